// Exit 0 when the role in this container answers. A container runs one role: the API answers on DROVER_PORT,
// a worker and a conductor on DROVER_HEALTH_PORT, so whichever answers is the one. Plain JavaScript with
// one small import, because it starts every few seconds in every container.
//
// `/healthz` by default: alive. `node src/cli/healthcheck.mjs /readyz` asks whether work can flow, which is
// what a load balancer wants to know; a container must not be called sick because Postgres is away.

import { printable } from '../print/printable.mjs'

const path = process.argv[2] ?? '/healthz'
const ports = [process.env.DROVER_PORT || '7070', process.env.DROVER_HEALTH_PORT || '7071']

const ask = async (port) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) })
  const text = await response.text()
  if (!response.ok) throw new Error(`port ${port} answered ${response.status}: ${text.slice(0, 200)}`)
}

try {
  await Promise.any(ports.filter((port) => port !== '0').map(ask))
} catch (error) {
  for (const reason of error.errors ?? [error])
    process.stderr.write(`${printable(reason.cause?.message ?? reason.message)}\n`)
  process.exitCode = 1
}
