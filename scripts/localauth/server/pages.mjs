// The pages that a person sees: plain HTML forms without scripts, and nothing that is loaded from elsewhere.

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text) => String(text).replace(/[&<>"']/g, (character) => entities[character])

const style = `
  :root { color-scheme: light dark }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem }
  label { display: block; margin-top: 1rem }
  input:not([type=checkbox]) { font: inherit; width: 100%; box-sizing: border-box; padding: .4rem }
  button { font: inherit; padding: .4rem 1rem; margin: 1.5rem .5rem 0 0 }
  code { overflow-wrap: anywhere }
  [role=alert] { border-left: .3rem solid #c00; padding-left: .7rem }`

const page = (title, body) => `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${style}
</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
${body}
</main>
</body>
</html>
`

const list = (scopes) => `<ul>${scopes.map((scope) => `<li><code>${escape(scope)}</code></li>`).join('')}</ul>`

// Who asks, as it calls itself, and where the answer goes, which it cannot make up.
const asker = ({ client, redirectHost, resource }) =>
  `<p><strong>${escape(client)}</strong>, which answers at <code>${escape(redirectHost)}</code>, asks for access to
<code>${escape(resource)}</code>.</p>`

const secondFactor = `<label><input type="checkbox" name="second_factor" value="yes" required>
I have my second factor at hand (this local server takes your word for it)</label>`

export const signInPage = ({ request, message, name, secondFactorAsked }) => page('Sign in', `${asker(request)}
${message ? `<p role="alert">${escape(message)}</p>` : ''}
<form method="post">
<label for="username">Name</label>
<input id="username" name="username" value="${escape(name ?? '')}" autocomplete="username" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
${secondFactorAsked ? secondFactor : ''}
<button type="submit" name="action" value="sign-in">Sign in</button>
</form>`)

export const consentPage = ({ request, user, granted, refused }) => page('Give access', `${asker(request)}
<p>You are signed in as <strong>${escape(user)}</strong>.</p>
${granted.length ? `<p>It would get:</p>${list(granted)}` : '<p>It would get none of the scopes that need leave.</p>'}
${refused.length ? `<p>It also asks for what you may not have, and would not get it:</p>${list(refused)}` : ''}
<form method="post">
<button type="submit" name="action" value="allow">Allow</button>
<button type="submit" name="action" value="deny">Deny</button>
</form>
<p><a href="?as=another">Sign in as somebody else</a></p>`)

export const errorPage = ({ error, error_description: description }) => page('This did not work', `<p role="alert">
<code>${escape(error)}</code>${description ? `: ${escape(description)}` : ''}</p>
<p>Go back to the program that sent you here, and start again.</p>`)
