package trackerapi

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// The seed is made by rule, so that every start has the same ids, and so that WEB is long enough to need pages: numbers
// 1 to 150, of which every 29th was deleted.
var (
	seedProjects = []struct {
		key, name string
		issues    int
	}{
		{"WEB", "Website", 150},
		{"API", "Public API", 40},
		{"OPS", "Operations", 12},
		{"DOCS", "Documentation", 0},
	}

	// Two people share a name, one has a name outside ASCII, and one goes by a single name.
	seedUsers = []struct{ login, name string }{
		{"priya", "Priya Natarajan"},
		{"jose", "José Álvarez"},
		{"chris.lee", "Chris Lee"},
		{"christina.lee", "Chris Lee"},
		{"marie", "Marie Weber"},
		{"chidi", "Chidi Okafor"},
		{"yuki", "田中 由紀"},
		{"sofia", "Sofia Rossi"},
		{"suharto", "Suharto"},
	}

	seedAreas = []string{
		"Checkout", "Search", "Sign-in", "Profile page", "Newsletter", "Image upload", "Navigation", "Invoices",
		"Password reset", "Cookie banner", "Product list",
	}

	seedSymptoms = []string{
		"spinner never stops on slow connections", "text overlaps on small screens", "wrong total after a discount",
		"button does nothing on the second click", "error 500 for names with an apostrophe", "missing translations",
		"keyboard focus is lost", "loads the same data three times", "date is shown in the wrong time zone",
		"cannot be used with a screen reader", "link leads to a page that is gone", "settings are not remembered",
		"layout jumps while images load", "accepts an empty form",
	}
)

// SeedIssuer is the authorization server at which every user of the seed data has a sign-in.
const SeedIssuer = "https://login.example.com/"

// SeedIdentity is a user's sign-in there. Its subject is opaque, as most servers make them: it has nothing of the
// login.
func SeedIdentity(login string) Identity {
	return Identity{Issuer: SeedIssuer, Subject: seedID("subject", login)}
}

func seeded(now func() time.Time, identities map[string][]Identity) *store {
	s := &store{
		now:      now,
		projects: map[string]Project{},
		users:    map[string]User{},
		issues:   map[string]Issue{},
		numbers:  map[string]int{},
	}
	for _, user := range seedUsers {
		id := seedID("user", user.login)
		s.users[id] = User{
			ID: id, Login: user.login, Email: user.login + "@example.com", Name: user.name,
			Identities: append([]Identity{SeedIdentity(user.login)}, identities[user.login]...),
		}
	}
	for _, project := range seedProjects {
		id := seedID("project", project.key)
		s.projects[id] = Project{ID: id, Key: project.key, Name: project.name}
		s.numbers[id] = project.issues
		for number := 1; number <= project.issues; number++ {
			if number%29 != 0 {
				issue := seedIssue(id, number)
				s.issues[issue.ID] = issue
			}
		}
	}
	return s
}

// seedIssue makes one issue; every fifth is assigned to nobody.
func seedIssue(project string, number int) Issue {
	area := seedAreas[number%len(seedAreas)]
	symptom := seedSymptoms[number%len(seedSymptoms)]
	created := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC).Add(time.Duration(number) * 31 * time.Hour)
	issue := Issue{
		ID:          seedID(project, fmt.Sprint(number)),
		ProjectID:   project,
		Number:      number,
		Title:       area + ": " + symptom,
		Description: fmt.Sprintf("Reported by support. Where: %s. What happens: %s.", area, symptom),
		State:       seedState(number),
		Priority:    1 + number%3,
		CreatedAt:   created,
		UpdatedAt:   created.Add(5 * time.Hour),
	}
	if number%5 != 0 {
		assignee := seedID("user", seedUsers[number%len(seedUsers)].login)
		issue.AssigneeID = &assignee
	}
	return issue
}

func seedState(number int) int {
	switch {
	case number < 100 && number%7 != 0:
		return stateDone
	case number%4 == 0:
		return stateInProgress
	}
	return stateOpen
}

func seedID(space, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://tracker.example.com/"+space+"/"+name)).String()
}
