import { imageStates } from '../../../domain/template/image.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, choice, flag, given, type Options, text, UsageError } from '../../kit/command.ts'
import { field, fields, type Output, since, when } from '../../kit/output.ts'
import { list, pathOf, show } from '../../kit/rows.ts'
import { caOf } from '../inventory/site-options.ts'
import { destroyOptions, followJob, placeOptions, removeWithObjects, waitOptions } from './follow-job.ts'

const args = [{ name: 'image', summary: 'the id or the name of an image' }]

const sourceOf = ({ source }: Json): unknown => (source as Json).url ?? (source as Json).path

const sizeOf = ({ size_bytes: size }: Json): unknown => (typeof size === 'number' ? bytes(size) : null)

const useLine = ({ template, use, version }: Json): string =>
  `${template} ${use}${version === null ? '' : ` (version ${version})`}`

const replicaLine = ({ target, folder, state, template }: Json): string =>
  [target, folder, state, template === null ? 'on the shelf' : `of ${template}`]
    .filter((part) => part !== '')
    .join(', ')

const printImage = (output: Output, image: Json): void => {
  const facts = image.facts as Json | null
  const rows = [
    ['name', image.name],
    ['id', image.id],
    ['state', image.state],
    ...when(image.error as Json | null, (error): readonly (readonly [string, unknown])[] => [
      ['why', error.message],
      ['remedy', error.remedy],
    ]),
    ['from', sourceOf(image)],
    ['digest', image.digest],
    ['size', sizeOf(image)],
    ['vouched for by', image.verified],
    ...when(facts, ({ product, version, vendor, os, cpus, memory, firmware, disks, networks }) => [
      ['product', [product, version].join(' ').trim()],
      ['vendor', vendor],
      ['machine', `${cpus} cpus, ${bytes(Number(memory))}, ${firmware}, ${os}`],
      ...(disks as Json[]).map(
        ({ id, capacity, format }) => [`disk ${id}`, `${bytes(Number(capacity))}, ${format}`] as const,
      ),
      ['networks', networks],
    ]),
    ...(image.replicas as Json[]).map((replica) => ['copy', replicaLine(replica)] as const),
    ...(image.used_by as Json[]).map((use) => ['used by', useLine(use)] as const),
    ['job', image.job_id],
    ['created', `${image.created_at} by ${image.created_by}`],
  ] as const
  output.fields(rows.filter(([, value]) => value !== null && value !== ''))
}

const importOptions: Options = {
  target: text('name', 'the target that gets the first copy', { required: 'the target' }),
  url: text('url', 'of the OVA: https'),
  file: text('path', 'of the OVA, as every worker finds it'),
  ca: text('file', "certificates (PEM) to trust instead of the system's"),
  fingerprint: text('hex', "SHA-256 of the server's certificate, to pin it"),
  sha256: text('digest', 'of the whole archive; other content is refused'),
  'require-manifest': flag('refuse an archive whose content no manifest vouches for'),
  folder: text('path', 'the folder on the target; templates there use it without another upload'),
  ...placeOptions,
}

const add: Command = {
  name: 'images import',
  summary: 'Import an image from an OVA',
  covers: ['POST /v1/images'],
  args: [{ name: 'name', summary: 'what the image is called' }],
  options: { ...importOptions, ...waitOptions },
  run: async (call) => {
    const [name] = call.args
    const { url, file } = call.values
    if ((url === undefined) === (file === undefined)) throw new UsageError('Give either --url or --file.')
    const body = { name, ...given(call.values, importOptions), ca: caOf(call) }
    const begun = await call.client.post('/v1/images', body)
    return await followJob(call, {
      ...{ begun, path: pathOf('images', String(begun.id)), print: printImage },
      said: `The image ${name} is being imported: job ${begun.job_id}.`,
      isDone: ({ state }) => state === 'ready',
    })
  },
}

const remove: Command = {
  name: 'images delete',
  summary: 'Delete an image that no template uses',
  covers: ['DELETE /v1/images/{image}'],
  args,
  options: destroyOptions,
  run: (call) =>
    removeWithObjects(call, pathOf('images', call.args[0]), (jobs) =>
      jobs.length === 0 ? 'It is deleted.' : `It is deleted; its copies go with: ${jobs.join(', ')}.`,
    ),
}

export const imageCommands: readonly Command[] = [
  list({
    name: 'images list',
    summary: 'List images, the newest first',
    asks: 'GET /v1/images',
    empty: 'There are no images: drover images import',
    filters: {
      state: choice('state', imageStates, 'only in this state; deleted ones are listed by it alone'),
      target: text('name', 'only those with a copy on this target'),
      name: text('text', 'only with this in their name'),
    },
    columns: [
      ...fields('name', 'state'),
      { title: 'size', value: sizeOf, right: true },
      field('facts.product', 'product'),
      field('facts.version', 'version'),
      { title: 'targets', value: ({ targets }) => (targets as string[]).join(', ') },
      { title: 'templates', value: ({ templates }) => (templates as string[]).join(', ') },
      since('created_at', 'created'),
    ],
  }),
  show({
    name: 'images show',
    summary: 'Show an image: what is in it, where copies of it are, which templates use it',
    asks: 'GET /v1/images/{image}',
    args,
    print: printImage,
  }),
  add,
  remove,
]
