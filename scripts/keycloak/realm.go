package keycloak

import (
	"crypto/rand"
	"slices"

	"patchbay/scripts/localauth"
)

// object is a part of a realm's representation. Source: Keycloak's Admin REST API, RealmRepresentation.
type object map[string]any

// defaultSeconds is Keycloak's own life of an access token.
const defaultSeconds = 300

// Client scopes that every client has. A realm that brings client scopes of its own has none of Keycloak's, so they are
// written down here as Keycloak has them; without basic a token has no subject and no auth_time.
const (
	basicScope = "basic"
	acrScope   = "acr"
)

func newRealm(o Options) (realm object, users []localauth.User, machine localauth.Machine) {
	users = slices.Clone(o.Users)
	if o.Users == nil {
		users = localauth.DefaultUsers(o.Scopes)
	}
	for i := range users {
		if users[i].Password == "" {
			users[i].Password = rand.Text()
		}
	}
	machine = localauth.Machine{ClientID: "patchbay-machine", Secret: rand.Text(), Scopes: slices.Clone(o.Scopes)}
	seconds := o.AccessTokenSeconds
	if seconds == 0 {
		seconds = defaultSeconds
	}
	return object{
		"realm": realmName, "enabled": true, "accessTokenLifespan": seconds,
		"revokeRefreshToken":          true, // refresh tokens rotate, as OAuth 2.1 asks for public clients
		"roles":                       object{"realm": roles(o.Scopes)},
		"clientScopes":                clientScopes(o),
		"defaultDefaultClientScopes":  []string{basicScope, acrScope},
		"defaultOptionalClientScopes": o.Scopes,
		"scopeMappings":               scopeMappings(o.Scopes),
		"users":                       append(people(users), serviceAccount(machine)),
		"clients":                     []object{machineClient(machine)},
		"components":                  object{registrationPolicy: registrationPolicies()},
		"clientProfiles":              pkceProfile(),
		"clientPolicies":              pkcePolicy(),
	}, users, machine
}

func roles(scopes []string) []object {
	var all []object
	for _, scope := range scopes {
		all = append(all, object{"name": scope})
	}
	return all
}

// scopeMappings tie each client scope to the role of its name: a user without the role does not get the scope.
func scopeMappings(scopes []string) []object {
	var all []object
	for _, scope := range scopes {
		all = append(all, object{"clientScope": scope, "roles": []string{scope}})
	}
	return all
}

func clientScopes(o Options) []object {
	all := []object{
		hidden(basicScope, mapper("sub", "oidc-sub-mapper", nil),
			mapper("auth_time", "oidc-usersessionmodel-note-mapper", object{
				"user.session.note": "AUTH_TIME", "claim.name": "auth_time", "jsonType.label": "long",
				"id.token.claim": "true",
			})),
		hidden(acrScope, mapper("acr", "oidc-acr-mapper", object{"id.token.claim": "true"})),
	}
	// The audience comes with each scope of the server. A default scope of its own would not do: a client that registers
	// with "scope" gets what it names there in the place of the realm's default scopes, all but basic.
	audience := mapper("audience", "oidc-audience-mapper", object{"included.custom.audience": string(o.Resource)})
	for _, scope := range o.Scopes {
		all = append(all, object{
			"name": scope, "protocol": "openid-connect", "protocolMappers": []object{audience},
			"attributes": object{"include.in.token.scope": "true", "display.on.consent.screen": "true"},
		})
	}
	return all
}

// hidden is a client scope that puts claims into tokens and is no scope to anybody else.
func hidden(name string, mappers ...object) object {
	return object{
		"name": name, "protocol": "openid-connect", "protocolMappers": mappers,
		"attributes": object{"include.in.token.scope": "false", "display.on.consent.screen": "false"},
	}
}

func mapper(name, kind string, config object) object {
	all := object{"access.token.claim": "true", "introspection.token.claim": "true"}
	for key, value := range config {
		all[key] = value
	}
	return object{"name": name, "protocol": "openid-connect", "protocolMapper": kind, "config": all}
}

// offlineRole is what somebody needs whose clients ask for offline_access, which Keycloak's metadata names and MCP
// clients ask for then. Keycloak itself gives it to everybody who is not imported.
const offlineRole = "offline_access"

// people have what the realm's profile demands, so that nobody is asked to complete it at the first sign-in.
func people(users []localauth.User) []object {
	var all []object
	for _, user := range users {
		all = append(all, object{
			"id": user.Name, "username": user.Name, "enabled": true, "emailVerified": true,
			"email": user.Name + "@example.com", "firstName": user.Name, "lastName": "Example",
			"credentials": []object{{"type": "password", "value": user.Password, "temporary": false}},
			"realmRoles":  append([]string{offlineRole}, user.Scopes...),
		})
	}
	return all
}

func machineClient(machine localauth.Machine) object {
	return object{
		"clientId": machine.ClientID, "secret": machine.Secret, "publicClient": false, "serviceAccountsEnabled": true,
		"standardFlowEnabled": false, "fullScopeAllowed": true,
		"defaultClientScopes": []string{basicScope, acrScope}, "optionalClientScopes": machine.Scopes,
	}
}

func serviceAccount(machine localauth.Machine) object {
	return object{
		"username": "service-account-" + machine.ClientID, "enabled": true, "serviceAccountClientId": machine.ClientID,
		"realmRoles": machine.Scopes,
	}
}

// registrationPolicy is the kind of component that says which clients may register without an account of the realm.
const registrationPolicy = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"

// registrationPolicies let programs of this machine register, with redirect URIs on this machine, and have people asked
// for their consent. Keycloak itself trusts no host at first.
func registrationPolicies() []object {
	policy := func(name, kind string, config object) object {
		return object{"name": name, "providerId": kind, "subType": "anonymous", "config": config}
	}
	return []object{
		policy("Trusted Hosts", "trusted-hosts", object{
			// The last is where the MCP Inspector says that its home page is.
			"trusted-hosts": []string{"127.0.0.1", "localhost", "github.com"},
			"host-sending-registration-request-must-match": []string{"true"},
			"client-uris-must-match":                       []string{"true"},
		}),
		policy("Consent Required", "consent-required", object{}),
		policy("Allowed Client Scopes", "allowed-client-templates", object{"allow-default-scopes": []string{"true"}}),
	}
}

// Every client must use PKCE with S256, which Keycloak leaves to the client otherwise.
func pkceProfile() object {
	return object{"profiles": []object{{
		"name": "pkce",
		"executors": []object{{
			"executor": "pkce-enforcer", "configuration": object{"auto-configure": true},
		}},
	}}}
}

func pkcePolicy() object {
	return object{"policies": []object{{
		"name": "pkce", "enabled": true, "profiles": []string{"pkce"},
		"conditions": []object{{"condition": "any-client", "configuration": object{}}},
	}}}
}
