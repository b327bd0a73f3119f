// Runs dynalite: node -e <this text> <path of dynalite> <options as JSON>.
// Prints {"url":"http://…"} once it answers, and ends on SIGTERM or when standard input ends, which is when its parent
// has gone, however it went.
const [dynalite, options] = [process.argv[1], JSON.parse(process.argv[2])]

// Ctrl-C reaches every process of the terminal's group, and the parent may still have something to write.
process.on('SIGINT', () => {})

// dynalite listens before its folder is open and dies at the first request if it cannot be opened.
const checkDir = async (path) => {
  const { Level } = require(require.resolve('level', { paths: [dynalite] }))
  const db = new Level(path)
  await db.open()
  await db.close()
}

const fail = (err) => {
  const folder = err.cause ? `data folder ${options.dir}: ${err.cause.message}` : ''
  console.error(err.cause?.code === 'LEVEL_LOCKED' ? `${folder} (another engine uses it)` : folder || err.message)
  process.exit(1)
}

// dynalite answers every origin's preflight with "*", and there are no credentials to check, so any page that is open on
// this machine could read and write the tables. Browsers name the page (Origin, Sec-Fetch-Site), or its site where that
// resolves to this machine (Host); programs of this machine send neither of the fields and name the address.
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i
const fromBrowser = ({ headers }) => {
  for (const name of ['Origin', 'Sec-Fetch-Site']) {
    if (name.toLowerCase() in headers) return `requests of web pages are not served, and this one carries ${name}`
  }
  const host = headers.host ?? ''
  const name = host.replace(/:\d+$/, '')
  if (loopback.test(host) || name === options.host || options.names?.includes(name)) return ''
  return `Host is ${JSON.stringify(host)}; allowed: localhost, a loopback address, or the address listened on`
}

const guard = (server) => {
  const [handle] = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const message = fromBrowser(request)
    if (!message) return handle.call(server, request, response)
    response.writeHead(403, { 'Content-Type': 'application/x-amz-json-1.0', Connection: 'close' })
    response.end(JSON.stringify({ __type: 'com.amazon.coral.service#AccessDeniedException', message }))
  })
}

const serve = async () => {
  if (options.dir) await checkDir(options.dir)
  const server = require(dynalite)({ path: options.dir, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  guard(server)
  const stop = () => {
    server.close(() => process.exit(0))
    server.closeAllConnections()
  }
  process.on('SIGTERM', stop)
  process.stdin.on('end', stop).on('error', stop).resume()
  server.on('error', fail)
  server.listen(options.port, options.host, () => {
    const { address, family, port } = server.address()
    console.log(JSON.stringify({ url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` }))
  })
}

serve().catch(fail)
