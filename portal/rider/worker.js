// Keeps the files of the page, so that it opens without a network. The service puts two lists before this text, which
// hold the hash of each file by its path: `shell` is stored before this version takes over, `later` once it is used.
{
  /** @type {any} */
  const worker = self
  /** @type {{ shell: Record<string, string>, later: Record<string, string> }} */
  const { shell, later } = worker
  const base = new URL('./', worker.location.href).href
  const prefix = 'courier-rider '

  const hash = async (/** @type {ArrayBuffer} */ bytes) => {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
    return btoa(String.fromCharCode(...digest))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .slice(0, 22)
  }
  const files = { ...shell, ...later }
  const naming = hash(new TextEncoder().encode(JSON.stringify(files)).buffer).then(version => prefix + version)
  const opening = naming.then(name => caches.open(name))

  /** Stores a file, unless it is of another version than this worker, such as during a rolling restart. */
  const store = async (/** @type {Cache} */ cache, /** @type {string} */ path) => {
    const response = await fetch(base + path, { cache: 'no-cache' })
    const kept = response.clone()
    if ((await hash(await response.arrayBuffer())) !== files[path]) throw new Error(`changed: ${path}`)
    await cache.put(base + path, kept)
  }
  const fill = async () => {
    const cache = await opening
    await Promise.all(Object.keys(shell).map(path => store(cache, path)))
  }
  const dropOthers = async () => {
    const own = await naming
    for (const name of await caches.keys()) if (name.startsWith(prefix) && name !== own) await caches.delete(name)
  }

  const serve = async (/** @type {Request} */ request, /** @type {string} */ path) => {
    const cache = await opening
    if (!(await cache.match(base + path))) await store(cache, path).catch(() => {})
    return (await cache.match(base + path)) ?? fetch(request)
  }

  worker.addEventListener('install', event => event.waitUntil(fill()))
  worker.addEventListener('activate', event => event.waitUntil(dropOthers().then(() => worker.clients.claim())))
  worker.addEventListener('message', ({ data }) => data === 'take over' && worker.skipWaiting())
  worker.addEventListener('fetch', event => {
    const [url] = event.request.url.split(/[?#]/)
    const path = url.slice(base.length)
    const isKept = url.startsWith(base) && Object.hasOwn(files, path)
    if (isKept && event.request.method === 'GET') event.respondWith(serve(event.request, path))
  })
}
