import { defineTable, type Move } from '../table/state-table.ts'

const states = {
  absent: { says: 'Nothing is under its name on the platform, as far as Drover knows.', starts: true },
  swapping: { says: 'A job makes the name point at the wanted image.' },
  live: { says: 'The name points at the image of its live version.' },
  conflict: { says: 'Something that is not ours is in the way: a person decides.' },
} as const
export type TemplateState = keyof typeof states

const events = ['swap', 'finish', 'keep', 'refuse', 'lose'] as const
export type TemplateEvent = (typeof events)[number]

const moves: readonly Move<TemplateState, TemplateEvent>[] = [
  {
    event: 'swap',
    from: ['absent', 'swapping', 'live', 'conflict'],
    to: 'swapping',
    cause: 'person',
    says: 'A person asked for an image, or for a recovery.',
  },
  {
    event: 'finish',
    from: ['swapping'],
    to: 'live',
    cause: 'worker',
    says: 'The name points at the wanted image.',
  },
  {
    event: 'keep',
    from: ['swapping'],
    to: 'live',
    cause: 'worker',
    says: 'The swap was given up. The name points at what it did before.',
  },
  {
    event: 'refuse',
    from: ['swapping'],
    to: 'conflict',
    cause: 'worker',
    says: 'A stranger has one of the names.',
  },
  {
    event: 'lose',
    from: ['swapping', 'live'],
    to: 'absent',
    cause: 'worker',
    says: 'A look at the platform found nothing under the name.',
  },
]

/** Every move of a template. */
export const templateTable = defineTable({ subject: 'template', states, events, moves })

export const templateStates = templateTable.states
