import type { Queryable } from '../../../db/client.ts'
import type { ImageReplicaRow } from '../../../db/schema/template.ts'
import { isShelfName, ownedImage } from '../../domain/template/names.ts'
import type { SwapRole, SwapSeen } from '../../domain/template/swap-step.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { TemplateFacts, TemplatesPort } from '../../platforms/ports/templates.ts'
import type { SwapWork } from './swap-work.ts'

/** The result of one look at the folder of a template. A failed look throws. */
export interface Look {
  readonly seen: Pick<SwapSeen, 'production' | 'temp' | 'old' | 'shelf'>
  readonly found: Readonly<Partial<Record<SwapRole | 'shelf', TemplateFacts>>>
  /** All objects in the folder, ours or not. */
  readonly all: readonly TemplateFacts[]
  /** Our complete objects in the folder. */
  readonly ours: readonly TemplateFacts[]
  readonly replicas: ReadonlyMap<string, ImageReplicaRow>
  /** Objects under our names that are not ours. */
  readonly strangers: readonly TemplateFacts[]
}

interface Looking {
  readonly db: Queryable
  readonly call: JobCall
  readonly templates: TemplatesPort
  readonly work: SwapWork
  /** The image that this job has begun to import. */
  readonly importing: string | null
}

const roles = ['production', 'temp', 'old'] as const satisfies readonly SwapRole[]

/** One request lists all names, so an object that is being renamed is not missed. */
export const lookAtFolder = async ({ db, call, templates, work, importing }: Looking): Promise<Look> => {
  const { template, names, installation, version } = work
  const all = await again(call, () => templates.templates(call, template.folder))
  const imageOf = ({ owner }: TemplateFacts) => ownedImage(owner, installation)
  const named = (role: SwapRole) => all.filter(({ name }) => name === names[role])
  const tagged = all.filter((object) => object.complete && imageOf(object) !== undefined)
  const replicas = await replicasOf(db, work, tagged)
  const others = await heldByOthers(db, work, { objects: roles.flatMap(named), replicas })
  const ours = tagged.filter(({ ref }) => !others.has(ref))
  const isFree = ({ ref, name }: TemplateFacts) => {
    const row = replicas.get(ref)
    const taken = row !== undefined && row.templateId !== null && row.templateId !== template.id
    return isShelfName(name) && row?.state !== 'removing' && !taken
  }
  const shelf = ours.find((object) => imageOf(object) === version.imageId && isFree(object))
  const sight = (role: SwapRole) => {
    const [object, another] = named(role)
    if (!object) return 'absent'
    const image = imageOf(object)
    // Two of one name: nobody can tell which of them is meant.
    if (image === undefined || another || others.has(object.ref)) return 'stranger'
    if (!object.complete) return 'partial'
    return image === version.imageId ? 'wanted' : 'other'
  }
  const temp = sight('temp')
  const [begun] = named('temp')
  const isBegun = importing === version.imageId && begun !== undefined && imageOf(begun) === importing
  return {
    seen: {
      production: sight('production'),
      temp: temp === 'partial' && isBegun ? 'begun' : temp,
      old: sight('old'),
      shelf: shelf ? 'there' : 'absent',
    },
    found: { ...onlyFound(named), ...(shelf ? { shelf } : {}) },
    all,
    ours,
    replicas,
    strangers: roles.flatMap((role) => (sight(role) === 'stranger' ? named(role) : [])),
  }
}

const onlyFound = (named: (role: SwapRole) => readonly TemplateFacts[]) =>
  Object.fromEntries(
    roles.flatMap((role) =>
      named(role)
        .slice(0, 1)
        .map((object) => [role, object]),
    ),
  )

const replicasOf = async (
  db: Queryable,
  { rows, template: { targetId } }: SwapWork,
  objects: readonly TemplateFacts[],
): Promise<ReadonlyMap<string, ImageReplicaRow>> => {
  const found = await rows.findReplicasByRef(db, { targetId, refs: objects.map(({ ref }) => ref) })
  return new Map(found.map((row) => [row.ref ?? '', row]))
}

/** Objects under the names of this template that another template has: their folders are the same, spelled differently. */
const heldByOthers = async (
  db: Queryable,
  { rows, template }: SwapWork,
  seen: {
    readonly objects: readonly TemplateFacts[]
    readonly replicas: ReadonlyMap<string, ImageReplicaRow>
  },
): Promise<ReadonlySet<string>> => {
  const held = new Set<string>()
  for (const { ref } of seen.objects) {
    const holder = seen.replicas.get(ref)?.templateId ?? template.id
    if (holder === template.id) continue
    const other = await rows.findTemplateById(db, holder)
    if (other && other.deletedAt === null) held.add(ref)
  }
  return held
}
