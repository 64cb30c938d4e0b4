import type { ProjectFacts } from '../../inventory/facts.ts'

/** The relevant fields of a target's network or pool. */
interface Shared {
  readonly ref: string
  readonly name: string
  readonly projects?: readonly string[]
}

/** The project with that name or ref; a missing project is reported elsewhere. */
export const projectOf = (
  { projects }: { readonly projects: readonly ProjectFacts[] },
  asked: string,
): ProjectFacts | undefined => projects.find(({ name, ref }) => name === asked || ref === asked)

/** Whether machines of a project may use it. Without a project nothing restricts them. */
export const isForProject = ({ projects = [] }: Shared, project: ProjectFacts | undefined): boolean =>
  projects.length === 0 ||
  project === undefined ||
  projects.includes(project.ref) ||
  projects.includes(project.name)

/** The thing with that name or ref in the project; otherwise another project's. Two projects may use the same name. */
export const findForProject = <Thing extends Shared>(
  things: readonly Thing[],
  asked: string,
  project: ProjectFacts | undefined,
): Thing | undefined => {
  const named = things.filter(({ name, ref }) => name === asked || ref === asked)
  return named.find((thing) => isForProject(thing, project)) ?? named[0]
}
