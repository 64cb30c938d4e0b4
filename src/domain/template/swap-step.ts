/**
 * The next step for a template, as a table over the objects under its names. Pure: a failed look is not an input, so
 * nothing is decided on unknown facts. The job takes one step, looks again and decides again. The same table continues
 * after a crash at any point.
 *
 * No step destroys a complete object. Complete objects go to the shelf and are destroyed from there later, as a debt.
 */

/**
 * `stranger`: not ours. `partial`: ours, incomplete. `wanted`: ours, complete, of the wanted image. `other`: ours,
 * complete, of another image.
 */
export const productionSights = ['absent', 'stranger', 'partial', 'wanted', 'other'] as const
/** `begun`: incomplete, and the import of this job continues with this object. */
export const tempSights = [...productionSights, 'begun'] as const
/** Whether the folder holds a complete object of the wanted image that no template uses. */
export const shelfSights = ['absent', 'there'] as const
/** Whether the request can be fulfilled. `waits`: the image is still being imported. */
export const inputSights = ['unseen', 'good', 'waits', 'refused'] as const
/** `refused`: the platform definitely refused this job's rename of the new object to the production name. */
export const promotions = ['open', 'refused'] as const

export interface SwapSeen {
  readonly production: (typeof productionSights)[number]
  readonly temp: (typeof tempSights)[number]
  readonly old: (typeof productionSights)[number]
  readonly shelf: (typeof shelfSights)[number]
  readonly inputs: (typeof inputSights)[number]
  readonly promotion: (typeof promotions)[number]
}

/** Names of a template on its platform, by role. */
export type SwapRole = 'production' | 'temp' | 'old'

export type SwapStep =
  | 'validate'
  | 'stage'
  | 'import'
  | 'retire'
  | 'promote'
  | 'restore'
  | 'shelve-temp'
  | 'shelve-old'
  | 'discard-production'
  | 'discard-temp'
  | 'discard-old'
  | 'wait-for-image'
  | 'done'
  | 'refuse'
  | 'conflict'
  | 'give-up'

/** The effect of each step, for people. */
export const swapSteps: Readonly<Record<SwapStep, string>> = {
  validate: 'Check what was asked for. Nothing was changed for it so far.',
  stage: 'Rename the image on the shelf to the temporary name: nothing is uploaded.',
  import: 'Bring the image in under the temporary name. The template stays as it is meanwhile.',
  retire: 'Rename production to the old name. From here to the next step the name points at nothing.',
  promote: 'Rename the temporary name to production.',
  restore: 'Rename the old name back to production.',
  'shelve-temp': 'Rename the whole object under the temporary name to a name on the shelf.',
  'shelve-old': 'Rename the object that was production to a name on the shelf.',
  'discard-production': 'Remove our object under the production name, which is not whole.',
  'discard-temp': 'Remove what an import left under the temporary name, which is not whole.',
  'discard-old': 'Remove our object under the old name, which is not whole.',
  'wait-for-image': 'Wait until the image is imported.',
  done: 'The name points at the wanted image, and nothing is left over.',
  refuse: 'End: what was asked for cannot be done. The template is as it was.',
  conflict: 'End: an object that is not ours has one of the names. It is named and not touched.',
  'give-up': 'End: the platform refuses the production name to the new object.',
}

/** The steps that rename or remove an object, with the role of that object. */
export const swapTarget = {
  stage: 'shelf',
  retire: 'production',
  promote: 'temp',
  restore: 'old',
  'shelve-temp': 'temp',
  'shelve-old': 'old',
  'discard-production': 'production',
  'discard-temp': 'temp',
  'discard-old': 'old',
} as const satisfies Partial<Record<SwapStep, SwapRole | 'shelf'>>
/** A step that is one task of the platform. */
export type SwapTaskStep = keyof typeof swapTarget

export const isTaskStep = (step: SwapStep): step is SwapTaskStep => Object.hasOwn(swapTarget, step)

export interface SwapRow {
  readonly when: { readonly [Key in keyof SwapSeen]?: readonly SwapSeen[Key][] }
  readonly step: SwapStep
}

const whole = ['wanted', 'other'] as const
const cutShort = ['partial', 'begun'] as const

/** Read from top to bottom; the first matching row decides. */
export const swapTable: readonly SwapRow[] = [
  { when: { production: ['stranger'] }, step: 'conflict' },
  { when: { production: ['partial'] }, step: 'discard-production' },
  // The name must resolve first, whatever was requested: forward if the new object is complete, else back.
  { when: { production: ['absent'], temp: ['wanted'], promotion: ['open'] }, step: 'promote' },
  { when: { production: ['absent'], old: whole }, step: 'restore' },
  { when: { production: ['absent'], temp: ['wanted'] }, step: 'give-up' },
  // The name points at the wanted image: our leftovers are removed. A stranger under another name does no harm.
  { when: { production: ['wanted'], temp: cutShort }, step: 'discard-temp' },
  { when: { production: ['wanted'], temp: whole }, step: 'shelve-temp' },
  { when: { production: ['wanted'], old: ['partial'] }, step: 'discard-old' },
  { when: { production: ['wanted'], old: whole }, step: 'shelve-old' },
  { when: { production: ['wanted'] }, step: 'done' },
  // The request is checked only once the name resolves, or nothing is left to recover from.
  { when: { inputs: ['unseen'] }, step: 'validate' },
  { when: { inputs: ['refused'], temp: cutShort }, step: 'discard-temp' },
  { when: { inputs: ['refused'], temp: whole }, step: 'shelve-temp' },
  { when: { inputs: ['refused'], old: ['partial'] }, step: 'discard-old' },
  { when: { inputs: ['refused'], old: whole }, step: 'shelve-old' },
  { when: { inputs: ['refused'] }, step: 'refuse' },
  { when: { inputs: ['waits'] }, step: 'wait-for-image' },
  { when: { temp: ['stranger'] }, step: 'conflict' },
  { when: { production: ['other'], old: ['stranger'] }, step: 'conflict' },
  { when: { old: ['partial'] }, step: 'discard-old' },
  { when: { old: whole }, step: 'shelve-old' },
  { when: { temp: ['partial'] }, step: 'discard-temp' },
  { when: { temp: ['other'] }, step: 'shelve-temp' },
  { when: { temp: ['begun'] }, step: 'import' },
  { when: { temp: ['wanted'], promotion: ['refused'] }, step: 'give-up' },
  { when: { temp: ['wanted'] }, step: 'retire' },
  { when: { shelf: ['there'] }, step: 'stage' },
  { when: {}, step: 'import' },
]

export const swapRowFits = ({ when }: SwapRow, seen: SwapSeen): boolean =>
  (Object.keys(when) as (keyof SwapSeen)[]).every((key) =>
    (when[key] as readonly unknown[] | undefined)?.includes(seen[key]),
  )

export const decideSwap = (seen: SwapSeen): SwapStep => {
  const row = swapTable.find((one) => swapRowFits(one, seen))
  if (!row) throw new Error('The table of swaps has no row for what is seen.')
  return row.step
}
