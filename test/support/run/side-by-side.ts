import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files of a group side by side, each suite spread over the whole of it: what computes runs beside what waits, and
 * all come to their end together. Within a suite the longest files are the first.
 */
export class SideBySide extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted
      .map((file) => {
        const suite = sorted.filter((other) => suiteOf(other) === suiteOf(file))
        return { file, place: suite.indexOf(file) / suite.length }
      })
      .sort((a, b) => groupOf(a.file) - groupOf(b.file) || a.place - b.place)
      .map(({ file }) => file)
  }
}

const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder

/** The folder of `test` that holds it. */
const suiteOf = ({ moduleId, project }: TestSpecification): string | undefined =>
  relative(project.config.root, moduleId).split('/')[1]
