import { describe, expect, test } from 'vitest'
import {
  nextTaskStep,
  type TaskSeen,
  taskName,
  taskOwners,
  taskRecords,
  taskRepeats,
  taskResults,
  taskSights,
  taskTable,
} from '../../../src/domain/job/task-step.ts'

const most = 3

const everything: readonly TaskSeen[] = taskRecords.flatMap((recorded) =>
  taskSights.flatMap((task) =>
    taskOwners.flatMap((whose) =>
      taskResults.flatMap((made) =>
        taskRepeats.flatMap((repeat) =>
          [0, 1, most - 1].map((failed) => ({ recorded, task, whose, made, repeat, failed, most })),
        ),
      ),
    ),
  ),
)

const stepsWhere = (holds: (seen: TaskSeen) => boolean): string[] =>
  [...new Set(everything.filter(holds).map(nextTaskStep))].sort()

describe('of all that can be seen of a task', () => {
  test('every combination has a step, and every row of the table decides one of them', () => {
    expect(everything).toHaveLength(720)
    const used = new Set(everything.map((seen) => nextTaskStep(seen)))
    expect([...used].sort()).toEqual([
      ...['adopt', 'anew', 'begin', 'ended', 'follow', 'give-up', 'look-at-result', 'look-at-task'],
      ...['outcome-unknown', 'refuse-anothers'],
    ])
    const fits = (row: (typeof taskTable)[number], seen: TaskSeen) =>
      Object.entries(row.when).every(([key, values]) =>
        (values as readonly unknown[]).includes(seen[key as keyof TaskSeen]),
      )
    const decided = new Set(everything.map((seen) => taskTable.findIndex((row) => fits(row, seen))))
    expect(decided.size).toBe(taskTable.length)
  })

  test('it is asked for only where nothing of it was taken on', () => {
    const asked = stepsWhere(({ recorded }) => recorded === 'asked' || recorded === 'ended')
    expect(asked).not.toContain('begin')
    expect(asked).not.toContain('adopt')
  })

  test('what was not seen is looked at: it is no reason to begin, to count a failure or to call it ended', () => {
    const blind = ({ recorded, task }: TaskSeen) =>
      ['intended', 'asked'].includes(recorded) && task === 'unseen'
    expect(stepsWhere(blind)).toEqual(['look-at-task'])
    const half = ({ recorded, task, made, whose }: TaskSeen) =>
      ['intended', 'asked'].includes(recorded) &&
      made === 'unseen' &&
      task !== 'unseen' &&
      (whose === 'untold' || task === 'absent' || task === 'failed')
    expect(stepsWhere(half)).toEqual(['look-at-result'])
  })

  test('nothing is begun, and no next name taken, beside a task that may still be at work', () => {
    const busy = stepsWhere(({ recorded, task }) => recorded !== 'none' && task === 'working')
    for (const step of ['begin', 'anew', 'give-up', 'outcome-unknown']) expect(busy).not.toContain(step)
  })

  test('a task that may be anybody’s is never adopted as ours nor believed to have done our work', () => {
    const strange = ({ whose, made, recorded }: TaskSeen) =>
      whose === 'untold' && made !== 'there' && (recorded === 'intended' || recorded === 'asked')
    expect(stepsWhere(strange)).not.toContain('adopt')
    expect(stepsWhere(strange)).not.toContain('ended')
  })

  test('nothing is begun on the word of a task that may be anybody’s: it may have ended while it was looked at', () => {
    const untold = ({ whose, recorded, task }: TaskSeen) =>
      whose === 'untold' && recorded === 'intended' && task !== 'absent'
    expect(stepsWhere(untold)).not.toContain('begin')
  })

  test('a name whose task failed is not asked for again', () => {
    const failedOurs = ({ task, whose, recorded }: TaskSeen) =>
      task === 'failed' && whose === 'ours' && recorded !== 'none'
    expect(stepsWhere(failedOurs)).not.toContain('begin')
  })

  test('what is there is not made again', () => {
    const there = stepsWhere(
      ({ made, task, recorded }) => made === 'there' && task !== 'unseen' && recorded !== 'none',
    )
    expect(there).toEqual(['adopt', 'ended', 'follow'])
  })

  test('what may be done only once is never repeated after it was taken on and forgotten', () => {
    const forgotten = ({ recorded, repeat, task, made }: TaskSeen) =>
      recorded === 'asked' && repeat === 'never' && task === 'absent' && made === 'absent'
    expect(stepsWhere(forgotten)).toEqual(['outcome-unknown'])
  })

  test('tries come to an end', () => {
    const last = ({ failed }: TaskSeen) => failed === most - 1
    expect(stepsWhere(last)).not.toContain('anew')
    expect(stepsWhere((seen) => !last(seen))).not.toContain('give-up')
  })
})

test('every try that failed gives the next one a name that no other has, the same on every turn', () => {
  const names = Array.from({ length: 50 }, (_, failed) => taskName('job', 'power/start', failed))
  expect(new Set(names).size).toBe(50)
  expect(names.slice(0, 3)).toEqual(['job/power/start', 'job/power/start/1', 'job/power/start/2'])
})
