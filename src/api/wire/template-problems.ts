import { facts, type ProblemFacts } from './problem-facts.ts'

/** Codes of images and templates: a part of the table in problem-codes.ts. */
export const templateProblems = {
  'image-in-use': facts(
    409,
    'The image is in use',
    'Let the templates that are named point at another image, or forget them; then delete the image.',
  ),
  'image-not-ready': facts(
    409,
    'The image is not ready',
    'Wait for the end of its import, or choose another image.',
  ),
  'template-busy': facts(
    409,
    'A job is at the template',
    'Wait for its end, or cancel the job; then try again.',
  ),
  'template-place-taken': facts(
    409,
    'Another template has this name on the target',
    'Choose another `production` or `folder`, or update the template that is there.',
  ),
  'template-downgrade': facts(
    409,
    'The image is older than what the template points at',
    'Roll back to an earlier version, or set `allow_downgrade` of the template.',
  ),
  'template-hot-loop': facts(
    409,
    'Swaps to this image fail one after the other',
    'Mend the cause and use `:recover`, or choose another image.',
  ),
  'version-unusable': facts(
    409,
    'The version cannot be gone back to',
    'Choose a version that was live: the list of versions shows them.',
  ),
  'target-incapable': facts(
    409,
    'The target has no templates',
    'Choose another target: its capabilities are listed with it.',
  ),
  'target-absent': facts(404, 'No such target', 'Look at the list of targets.'),
  'destroy-not-confirmed': facts(
    409,
    'Templates on the platform would be destroyed',
    'Look at what is destroyed, and send the same with `confirm_destroy` when that is what you mean.',
  ),
} as const satisfies Record<string, ProblemFacts>
