package localgateway

import "net/http"

// Route is a method at an address of the API. A path has no parameters.
type Route struct {
	// Method is an HTTP method; empty is ANY: all methods at the path that have no route of their own.
	Method string
	Path   string
	// Open is a route that runs without the authorizer of the API.
	Open bool
}

// endpointRoutes are the routes of an API that has nothing but the MCP endpoint. A browser sends no token with OPTIONS,
// and its page gets nothing to read when the answer to it is a refusal.
func endpointRoutes() []Route {
	return []Route{{Path: "/mcp"}, {Method: http.MethodOptions, Path: "/mcp", Open: true}}
}

// route finds the route of a request; the method is the one that API Gateway takes it for.
func (g *gateway) route(method, path string) (Route, bool) {
	var anyMethod *Route
	for i, route := range g.Routes {
		switch {
		case route.Path != path:
		case route.Method == method:
			return route, true
		case route.Method == "":
			anyMethod = &g.Routes[i]
		}
	}
	if anyMethod == nil {
		return Route{}, false
	}
	return *anyMethod, true
}
