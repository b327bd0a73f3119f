package tracker

import (
	"slices"

	"patchbay/shared/principal"
	"patchbay/shared/tool"
)

// Me is the word for the caller.
const Me = "me"

// Identity is a sign-in that the tracker knows: an authorization server, and what that calls the person. They are one:
// anybody may be called anything by a server of their own.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// caller is the one user to whom the tracker links the caller's sign-in, compared character for character. Names and
// e-mail addresses are not looked at: who may choose theirs could be anybody. Without a link nobody is meant.
func (all Users) caller(caller principal.Principal) (User, error) {
	switch {
	case caller.Anonymous():
		return User{}, all.nobody("it needs a caller who has signed in, and this call is anonymous")
	case caller.Subject == "" || caller.Subject == caller.ClientID:
		// A client's token for itself names the client as its subject (RFC 9068, section 2.2), or nobody.
		return User{}, all.nobody("this call comes from a program that acts for no person")
	case caller.Issuer == "":
		return User{}, all.nobody("it is not known where the caller has signed in")
	}
	own := Identity{Issuer: caller.Issuer, Subject: caller.Subject}
	found := all.where(func(u User) bool { return slices.Contains(u.Identities, own) })
	if len(found) != 1 {
		return User{}, all.nobody("the tracker does not link the caller's sign-in to one of its users")
	}
	return found[0], nil
}

func (all Users) nobody(why string) error {
	return tool.Fail(CodeUnknownCaller, "%q means nobody here: %s. Name a user instead: %s.", Me, why,
		enumerate(all.strings()))
}
