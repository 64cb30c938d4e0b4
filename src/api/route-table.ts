interface RegisteredRoute {
  readonly method: string
  readonly path: string
}

/** Which methods an address knows, from the router's own list. Middleware (`ALL`, `*`) says nothing about that. */
export const routeTable = (routes: readonly RegisteredRoute[]) => {
  const byPath = new Map<string, Set<string>>()
  for (const { method, path } of routes) {
    if (method === 'ALL' || path.includes('*')) continue
    const methods = byPath.get(path) ?? new Set()
    methods.add(method.toUpperCase())
    byPath.set(path, methods)
  }
  const patterns = [...byPath].map(([path, methods]) => ({ pattern: toPattern(path), methods }))
  return {
    methods: (path: string): string[] => {
      const known = new Set(
        patterns.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]),
      )
      if (known.has('GET')) known.add('HEAD')
      return [...known].sort()
    },
  }
}

/** `/jobs/:id/:verb{:retry}` as a pattern: a parameter is one segment, a literal one stands for itself. */
const toPattern = (path: string): RegExp => {
  const segments = path.split('/').map((segment) => {
    const literal = /^:\w+\{([^}]+)\}$/.exec(segment)?.[1]
    if (literal !== undefined) return escaped(literal)
    return segment.startsWith(':') ? '[^/]+' : escaped(segment)
  })
  return new RegExp(`^${segments.join('/')}$`)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
