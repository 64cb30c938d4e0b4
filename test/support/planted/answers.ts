import type { Piece } from './forms.ts'

/** Enough for a stream to say what it has to say; answers end by themselves. */
const streamMs = 1_500

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: unknown }>>>>
}

/** The answer with its headers; of one that goes on, what came by then. */
const readAnswer = async (
  url: string,
  headers: Record<string, string>,
): Promise<Response & { said: string }> => {
  const ended = new AbortController()
  const timer = setTimeout(() => ended.abort(), streamMs)
  const answer = await fetch(url, { headers, redirect: 'manual', signal: ended.signal })
  let said = JSON.stringify([...answer.headers])
  const decoder = new TextDecoder()
  try {
    for await (const chunk of answer.body ?? []) said += decoder.decode(chunk as Uint8Array, { stream: true })
  } catch (error) {
    if (!ended.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
  return Object.assign(answer, { said })
}

/** What a list of the collection calls its first thing; the path takes its id or its name. */
const firstOf = async (url: string, headers: Record<string, string>): Promise<Record<string, unknown>> => {
  const { said, status } = await readAnswer(url, headers)
  if (status !== 200) return {}
  const body = JSON.parse(said.slice(said.indexOf(']]') + 2) || '{}') as { items?: Record<string, unknown>[] }
  return body.items?.[0] ?? {}
}

/** The path with a real thing in the place of each parameter; undefined where there is none. */
const filled = async (
  base: string,
  path: string,
  headers: Record<string, string>,
): Promise<string | undefined> => {
  let made = ''
  for (const part of path.split('/').slice(1)) {
    const [, parameter] = /^\{(\w+)\}$/.exec(part) ?? []
    // `:verb{:count}` is how a verb is written.
    const verb = /^:verb\{(:\w+)\}$/.exec(part)?.[1]
    if (parameter === undefined) made += `/${verb ?? part}`
    else {
      const first = await firstOf(`${base}${made}`, headers)
      const value = first[parameter] ?? first.id ?? first.name
      if (value === undefined) return undefined
      made += `/${encodeURIComponent(String(value))}`
    }
  }
  return made
}

/** Every GET of the OpenAPI document that there is something for, with each credential. */
export const readAnswers = async (
  base: string,
  tokens: Readonly<Record<string, string>>,
): Promise<Piece[]> => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const document = (await (
    await fetch(`${base}/v1/openapi.json`, { headers: bearer(tokens.admin ?? '') })
  ).json()) as OpenApi
  const pieces: Piece[] = []
  const paths = Object.entries(document.paths).filter(([, verbs]) => verbs.get)
  const more = ['/v1/openapi.json', '/v1/assessment?format=csv', '/healthz', '/readyz', '/metrics', '/docs']
  for (const [path] of [...paths, ...more.map((one) => [one] as const)]) {
    const full = path.startsWith('/v1') || more.includes(path) ? path : `/v1${path}`
    const real = more.includes(full) ? full : await filled(base, full, bearer(tokens.admin ?? ''))
    if (real === undefined) continue
    for (const [role, token] of Object.entries(tokens)) {
      const { said } = await readAnswer(`${base}${real}`, bearer(token))
      pieces.push({ place: 'answers', where: `GET ${path} as ${role}`, text: said })
    }
  }
  return pieces
}

/** The pages of the console and of the board, from link to link. */
export const readPages = async (base: string, cookie: string, most: number): Promise<Piece[]> => {
  const queue = ['/', '/queues', '/queues/api/queues', '/login']
  const seen = new Set(queue)
  const pieces: Piece[] = []
  for (let at = 0; at < queue.length && at < most; at += 1) {
    const { said } = await readAnswer(`${base}${queue[at]}`, { cookie, accept: 'text/html' })
    pieces.push({ place: 'pages', where: queue[at] ?? '', text: said })
    for (const [, link = ''] of said.matchAll(/href="(\/[^"#]*)"/g)) {
      const path = link.replaceAll('&amp;', '&')
      if (!seen.has(path) && !path.startsWith('/v1/') && seen.add(path)) queue.push(path)
    }
  }
  return pieces
}
