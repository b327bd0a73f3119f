package wire

// The format of testdata/*.wire. One directive a line; "#" begins a comment line; empty lines separate cases.
//
//	case NAME                 begins a case
//	spec SOURCE               the specification demands the answer; or
//	policy SOURCE             the specification leaves it open, or only advises
//
// One of these begins a step, a request:
//
//	call TOOL [ARGUMENTS]     tools/call of revision 2026-07-28, complete and correct
//	send METHOD [PARAMS]      any other method of that revision; PARAMS without _meta
//	old VERSION METHOD [PARAMS]  a request of an earlier revision; VERSION "-" sends no version header
//	http METHOD               a request without a body
//
// These change it before it is sent:
//
//	id JSON | id none         the JSON text of the id (default 1); none makes it a notification
//	version TEXT              another revision, in header and _meta
//	meta KEY JSON             sets a member of _meta; JSON "-" removes it
//	meta = JSON               replaces _meta; JSON "-" removes it
//	param KEY JSON            sets a member of params
//	at TARGET                 another request target than the endpoint's; ${VARIABLE} in it is that value
//	header NAME: VALUE        replaces every header of that name, or adds it; VALUE may be a quoted Go string;
//	                          ${VARIABLE} in it is that value
//	header+ NAME: VALUE       adds a header
//	header- NAME              removes every header of that name
//	body TEXT                 sends TEXT instead of the message; ${META} in it is the default _meta
//	hex DIGITS                sends these bytes instead
//	repeat COUNT TEXT         sends TEXT so many times instead
//	mutate VARIABLE HOW       middle | last: one character of the variable is changed; cut: half of it is left
//
// These say what the answer must be:
//
//	expect WORD...            allowed HTTP statuses (three digits), allowed JSON-RPC error codes (negative), "result" for
//	                          no error, "empty" for no body
//	expect-id JSON | any | absent  the answer's id; without it an answer to a valid id must carry that id
//	match PATH OP VALUE       a value in the answer's last message; match@N looks into its Nth message, from 0
//	                          OP VALUE: = JSON · ~ REGEXP · !~ REGEXP · is integer|string|object|array|boolean ·
//	                          has JSON · absent
//	answer-header NAME REGEXP
//	answer-header= NAME TEXT  exactly one header of that name; ${VARIABLE} in TEXT is that value
//	no-answer-header NAME
//	document JSON             the whole body, which is no JSON-RPC message; ${VARIABLE} in a string is that value
//	messages COUNT            so many JSON-RPC messages in the answer
//	progress MIN TOKEN        at least MIN progress notifications, all with this token, increasing
//	capture VARIABLE PATH     keeps a value; ${VARIABLE} in a later step's message is that value
//	same-as VARIABLE          the whole result equals a captured one
//
// In a PATH dots separate keys and array indexes; "|" in a key stands for a dot.
