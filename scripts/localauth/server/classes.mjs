// The classes of sign-in that acr_values may name, and what each is called on the page. The first is what a sign-in is
// when nothing is asked for.
export const classes = { pwd: 'a password', mfa: 'a password and a second factor' }

export const [ordinary] = Object.keys(classes)

// wanted is the class that an authorization request asks for, the first that is known here; undefined for none.
export const wanted = ({ acr_values: values }) =>
  String(values ?? '').split(' ').find((name) => Object.hasOwn(classes, name))
