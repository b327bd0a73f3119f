package tracker

import (
	"context"
	"slices"
	"strings"

	"patchbay/shared/principal"
	"patchbay/shared/tool"
)

// User is a user of the tracker.
type User struct {
	ID    string `json:"id"`
	Login string `json:"login"`
	Email string `json:"email"`
	Name  string `json:"name"`
	// Identities are the sign-ins that the tracker has linked to the user.
	Identities []Identity `json:"identities"`
}

func (u User) identity() string { return u.ID }

// named reports whether text is the user's login, e-mail address or full name, letters' case aside.
func (u User) named(text string) bool {
	return strings.EqualFold(u.Login, text) || strings.EqualFold(u.Email, text) || strings.EqualFold(u.Name, text)
}

func (u User) String() string { return u.Name + " (" + u.Login + ")" }

// Users are all users of the tracker.
type Users []User

// Users reads all users.
func (c *Client) Users(ctx context.Context) (Users, error) {
	var all Users
	for page, err := range pages[User](ctx, c, []string{"users"}, nil, 1) {
		if err != nil {
			return nil, orUnavailable(err)
		}
		all = append(all, page.Data...)
	}
	return all, nil
}

// Find returns the user that is named by login, e-mail address or full name, or the caller for "me". It fails with
// CodeUnknownUser and near names, with CodeAmbiguousUser and the logins to choose from, or with CodeUnknownCaller.
func (all Users) Find(who string, caller principal.Principal) (User, error) {
	who = strings.TrimSpace(who)
	if strings.EqualFold(who, Me) {
		return all.caller(caller)
	}
	found := all.where(func(u User) bool { return u.named(who) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		near := all.where(func(u User) bool { return alike(who, u.Login, u.Name) })
		return User{}, tool.Fail(CodeUnknownUser, "No user is named %q.%s Give a full name, a login or an e-mail "+
			"address.%s", who, didYouMean(near.strings()), all.unlessNear(near))
	}
	return User{}, tool.Fail(CodeAmbiguousUser, "%d users are named %q: %s. Give the login.", len(found), who,
		enumerate(found.strings()))
}

// Name is how to name a user so that Find finds them: the full name, or the login where several share the name. It is
// empty for an empty id, and says so for a user who is gone.
func (all Users) Name(id string) string {
	if id == "" {
		return ""
	}
	at := slices.IndexFunc(all, func(u User) bool { return u.ID == id })
	if at < 0 {
		return "(former user)"
	}
	user := all[at]
	if len(all.where(func(u User) bool { return u.named(user.Name) })) > 1 {
		return user.Login
	}
	return user.Name
}

func (all Users) where(keep func(User) bool) Users {
	var kept Users
	for _, user := range all {
		if keep(user) {
			kept = append(kept, user)
		}
	}
	return kept
}

func (all Users) strings() []string {
	var names []string
	for _, user := range all {
		names = append(names, user.String())
	}
	return names
}

// unlessNear lists the users when nobody's name is near.
func (all Users) unlessNear(near Users) string {
	if len(near) > 0 {
		return ""
	}
	return " The users are: " + enumerate(all.strings()) + "."
}
