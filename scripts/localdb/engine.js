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

const serve = async () => {
  if (options.dir) await checkDir(options.dir)
  const server = require(dynalite)({ path: options.dir, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
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
