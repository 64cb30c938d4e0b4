import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, textOf, UsageError } from '../../kit/command.ts'
import { field, since } from '../../kit/output.ts'
import { itemsOf, listCommand, pathOf } from '../../kit/rows.ts'

const scopes = [
  { name: 'scope', summary: 'kind or lane' },
  { name: 'name', summary: 'its name' },
]

const requireScope = (scope: string | undefined): void => {
  if (scope !== 'kind' && scope !== 'lane') throw new UsageError(`The scope is kind or lane, not "${scope}".`)
}

const drainLookMs = 1_000

const pause: Command = {
  name: 'pause',
  summary: 'Pause a kind or a lane: nothing of it starts; what runs goes on',
  covers: ['POST /v1/pauses'],
  args: scopes,
  options: {
    reason: { type: 'string', value: 'text', summary: 'why; others will see it (required)' },
    wait: { type: 'boolean', summary: 'wait until nothing of it runs: a drain' },
  },
  run: async ({ client, output, args, values }) => {
    const [scope, name] = args
    requireScope(scope)
    const reason = textOf(values, 'reason')
    if (reason === undefined)
      throw new UsageError('--reason is required: others will ask why nothing starts.')
    let line: Json | undefined = await client.post('/v1/pauses', { scope, name, reason })
    while (values.wait && line && Number(line.running) > 0) {
      output.live(`${line.running} still run`)
      await client.sleep(drainLookMs)
      line = itemsOf(await client.get('/v1/pauses')).find(
        (item) => item.scope === scope && item.name === name,
      )
    }
    output.live('')
    if (!line) {
      output.note(`Somebody resumed the ${scope} ${name} before it was drained.`)
      return exitCodes.failed
    }
    output.show(line, () =>
      output.line(`The ${scope} ${name} is paused; ${line?.running} of its jobs still run.`),
    )
    return exitCodes.ok
  },
}

const resume: Command = {
  name: 'resume',
  summary: 'Let a kind or a lane go on',
  covers: ['DELETE /v1/pauses/{scope}/{name}'],
  args: scopes,
  run: async ({ client, output, args }) => {
    const [scope, name] = args
    requireScope(scope)
    await client.ask('DELETE', pathOf('pauses', scope, name))
    output.show({ scope, name, paused: false }, () => output.line(`The ${scope} ${name} goes on.`))
    return exitCodes.ok
  },
}

export const pauseCommands: readonly Command[] = [
  listCommand({
    name: 'pauses',
    summary: 'What is paused, and how much of it still runs',
    covers: 'GET /v1/pauses',
    path: '/v1/pauses',
    paged: false,
    empty: 'Nothing is paused.',
    columns: [
      field('scope'),
      field('name'),
      field('running', 'running', { right: true }),
      field('paused_by', 'by'),
      since('paused_at', 'since'),
      field('reason'),
    ],
  }),
  pause,
  resume,
]
