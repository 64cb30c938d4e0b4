import { templateStates } from '../../../domain/template/state.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import type { Json } from '../../kit/client.ts'
import {
  type Call,
  type Command,
  choice,
  flag,
  given,
  number,
  numberOf,
  type Options,
  text,
  UsageError,
} from '../../kit/command.ts'
import { confirmIfPerson, yesOption } from '../../kit/confirm.ts'
import { field, fields, numbers, type Output, since, when } from '../../kit/output.ts'
import { list, pathOf, show, versionOf } from '../../kit/rows.ts'
import { destroyOptions, followJob, placeOptions, removeWithObjects, waitOptions } from './follow-job.ts'

const nameArg = { name: 'name', summary: 'the name of a template' }
const args = [nameArg]

const printTemplate = (output: Output, template: Json): void => {
  const { image, image_live: live } = template
  const rows = [
    ['name', template.name],
    ['state', template.state],
    ['message', template.message],
    ...when(template.error as Json | null, ({ remedy }) => [['remedy', remedy]]),
    ['points at', live === null ? 'nothing yet' : `${live} (version ${template.version_live})`],
    ...when(template.version_live !== template.version_wanted, () => [
      ['wanted', `${image} (version ${template.version_wanted})`],
    ]),
    ['on', [template.target, template.folder].filter((part) => part !== '').join(', ')],
    ['called there', template.production],
    [
      'place',
      ['project', 'pool', 'host', 'network']
        .map((name) => template[name])
        .filter(Boolean)
        .join(', '),
    ],
    ['keeps', `${template.keep_versions} versions; others go after ${template.grace_seconds} s`],
    ['downgrade', template.allow_downgrade ? 'allowed' : 'refused'],
    ['job', `${template.job_id} (${template.job_state ?? 'no longer kept'})`],
    ['created', `${template.created_at} by ${template.created_by}`],
  ] as const
  output.fields(rows.filter(([, value]) => value !== ''))
}

const isLive = (template: Json): boolean =>
  template.state === 'live' && template.version_live === template.version_wanted

const follow = (call: Call, begun: Json): Promise<number> =>
  followJob(call, {
    ...{ begun, isDone: isLive, print: printTemplate, path: pathOf('templates', String(begun.name)) },
    said: `${begun.name}: ${begun.message} Job ${begun.job_id}.`,
  })

const settings: Options = {
  'keep-versions': number('how many versions wait on the shelf for a rollback (2)'),
  'grace-seconds': number('how long others stay before they are destroyed (600)', 'seconds'),
  ...placeOptions,
}

const addOptions: Options = {
  target: text('name', 'the target', { required: 'the target' }),
  image: text('image', 'the id or the name of the image', { required: 'the image' }),
  production: text('name', 'its name on the target, where it is another'),
  folder: text('path', 'the folder on the target'),
  'allow-downgrade': flag('an update may go to an older version of the product'),
  ...settings,
}

const add: Command = {
  name: 'templates add',
  summary: 'Make a name on a target point at an image',
  covers: ['POST /v1/templates'],
  args,
  options: { ...addOptions, ...waitOptions },
  run: async (call) => {
    const body = { name: call.args[0], ...given(call.values, addOptions) }
    return await follow(call, await call.client.post('/v1/templates', body))
  },
}

const setOptions: Options = {
  ...settings,
  'allow-downgrade': choice('word', ['true', 'false'], 'whether an update may go to an older version', {
    as: 'json',
  }),
}

const set: Command = {
  name: 'templates set',
  summary: 'Change the settings of a template, from its next swap on',
  covers: ['PATCH /v1/templates/{name}'],
  args,
  options: setOptions,
  run: async (call) => {
    const change = given(call.values, setOptions)
    if (Object.values(change).every((value) => value === undefined))
      throw new UsageError('Say what to change: --keep-versions, --grace-seconds, --pool, …')
    const path = pathOf('templates', call.args[0])
    const headers = await versionOf(call, path)
    const { body } = await call.client.ask('PATCH', path, { body: change, headers })
    call.output.show(body, () => call.output.line(`The template ${body.name} is changed.`))
  },
}

const planLines = (plan: Json): readonly string[] => {
  const refused = plan.refused as Json | null
  if (refused) return [`It would be refused. ${refused.message} ${refused.remedy}`]
  const steps = (plan.steps as Json[]).filter(({ step }) => step !== 'done')
  if (steps.length === 0) return [`It points at ${plan.image} already.`]
  const sent = typeof plan.bytes === 'number' ? bytes(plan.bytes) : 'all of it'
  return [
    ...steps.map(({ step, says }, at) => `${at + 1}. ${step}: ${says}`),
    plan.bytes === 0 ? 'Nothing is uploaded.' : `Uploaded: ${sent}.`,
  ]
}

const plan: Command = {
  name: 'templates plan',
  summary: 'The steps that an update would take; without an image those of a rollback',
  covers: ['POST /v1/templates/{name}/:plan'],
  args: [nameArg, { name: 'image', summary: 'the id or the name of an image', optional: true }],
  options: { version: number('of a rollback: the version to go back to') },
  run: async (call) => {
    const [name, image] = call.args
    const found = await readPlan(call, { image, version: numberOf(call.values, 'version') }, name)
    call.output.show(found, () => {
      call.output.line(`${name} to ${found.image}:`)
      for (const line of planLines(found)) call.output.line(line)
    })
  },
}

const readPlan = ({ client }: Call, ask: Json, name: string | undefined): Promise<Json> =>
  client.post(pathOf('templates', name, ':plan'), ask)

/** Shows the plan to a person and asks for confirmation; a script is not asked. */
const swapAs = async (call: Call, verb: 'update' | 'rollback', ask: Json): Promise<number> => {
  const [name] = call.args
  await confirmIfPerson(call, async () => {
    const found = await readPlan(call, ask, name)
    return [`${name} to ${found.image}:`, ...planLines(found)].join('\n')
  })
  return await follow(call, await call.client.post(pathOf('templates', name, `:${verb}`), ask))
}

const update: Command = {
  name: 'templates update',
  summary: 'Make a template point at another image',
  covers: ['POST /v1/templates/{name}/:update'],
  args: [nameArg, { name: 'image', summary: 'the id or the name of an image' }],
  options: { yes: yesOption, ...waitOptions },
  run: (call) => swapAs(call, 'update', { image: call.args[1] }),
}

const rollback: Command = {
  name: 'templates rollback',
  summary: 'Make a template point at what it pointed at before',
  covers: ['POST /v1/templates/{name}/:rollback'],
  args,
  options: {
    version: number('the version to go back to; otherwise the one before'),
    yes: yesOption,
    ...waitOptions,
  },
  run: (call) => swapAs(call, 'rollback', { version: numberOf(call.values, 'version') }),
}

const recover: Command = {
  name: 'templates recover',
  summary: 'Look at a template on its target again, and put right what was left behind',
  covers: ['POST /v1/templates/{name}/:recover'],
  args,
  options: waitOptions,
  run: async (call) => follow(call, await call.client.post(pathOf('templates', call.args[0], ':recover'))),
}

const forget: Command = {
  name: 'templates forget',
  summary: 'Forget a template; what is on the target stays there unless you say so',
  covers: ['DELETE /v1/templates/{name}'],
  args,
  options: destroyOptions,
  run: (call) =>
    removeWithObjects(call, pathOf('templates', call.args[0]), (jobs) =>
      jobs.length === 0 ? 'It is forgotten.' : `It is forgotten; what it had goes with: ${jobs.join(', ')}.`,
    ),
}

const milliseconds = (name: string, title: string) => ({
  ...{ title, right: true },
  value: (row: Json) => (typeof row[name] === 'number' ? `${row[name]} ms` : null),
})

export const templateCommands: readonly Command[] = [
  list({
    name: 'templates list',
    summary: 'List templates, and what they point at',
    asks: 'GET /v1/templates',
    empty: 'There are no templates: drover templates add',
    filters: {
      target: text('name', 'only of this target'),
      state: choice('state', templateStates, 'only in this state'),
      image: text('image', 'only those that want it: an id or a name'),
    },
    columns: [
      ...fields('name', 'target', 'folder', 'state'),
      field('image_live', 'points at'),
      numbers('version_live', 'version'),
      { title: 'wanted', value: (row) => (isLive(row) ? null : row.image) },
      field('message'),
    ],
  }),
  show({
    name: 'templates show',
    summary: 'Show a template: what it points at, what is wanted, what is in the way',
    asks: 'GET /v1/templates/{name}',
    args,
    print: printTemplate,
  }),
  list({
    name: 'templates versions',
    summary: 'List what a template pointed at, the newest first',
    asks: 'GET /v1/templates/{name}/versions',
    args,
    empty: 'It has no versions.',
    columns: [
      numbers('number', 'version'),
      ...fields('image', 'state', 'cause', 'by'),
      since('asked_at', 'asked'),
      since('live_at', 'live'),
      milliseconds('swap_ms', 'took'),
      milliseconds('gap_ms', 'gap'),
      { title: 'why not', value: ({ error }) => (error as Json | null)?.message },
    ],
  }),
  add,
  set,
  update,
  rollback,
  plan,
  recover,
  forget,
]
