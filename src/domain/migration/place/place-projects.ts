import type { ProjectFacts } from '../../inventory/facts.ts'

/** A network or a pool of a target, as far as it matters here. */
interface Shared {
  readonly ref: string
  readonly name: string
  readonly projects?: readonly string[]
}

/** The project of that name or ref; one that is not there is said elsewhere. */
export const projectOf = (
  { projects }: { readonly projects: readonly ProjectFacts[] },
  asked: string,
): ProjectFacts | undefined => projects.find(({ name, ref }) => name === asked || ref === asked)

/** Whether machines of a project may use it. Without a project there is nothing that could keep them out. */
export const isForProject = ({ projects = [] }: Shared, project: ProjectFacts | undefined): boolean =>
  projects.length === 0 ||
  project === undefined ||
  projects.includes(project.ref) ||
  projects.includes(project.name)

/** The one of that name or ref which the project has; else another project's. Projects may give one name to two. */
export const findForProject = <Thing extends Shared>(
  things: readonly Thing[],
  asked: string,
  project: ProjectFacts | undefined,
): Thing | undefined => {
  const named = things.filter(({ name, ref }) => name === asked || ref === asked)
  return named.find((thing) => isForProject(thing, project)) ?? named[0]
}
