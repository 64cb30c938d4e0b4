import { execFile } from 'node:child_process'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { secretsIn } from './secrets.ts'
import { lines } from './taken-over.ts'

const run = promisify(execFile)

/** What somebody learns who has the image, and what it does where no compose file bounds it. */
export const attackImage = (scene: () => Scene): void => {
  const inImage = (text: string) =>
    scene().engine.podman(['run', '--rm', '--network=none', '--entrypoint=sh', scene().image, '-c', text])

  test('the image holds nothing secret that lay beside the sources: in no layer, setting or step', async () => {
    const { engine, image, secrets, planted } = scene()
    const dir = await mkdtemp(join(tmpdir(), 'drover-image-'))
    try {
      const archive = join(dir, 'image.tar')
      await engine.podman(['save', '--quiet', '--format=docker-archive', '--output', archive, image])
      // The search itself is seen to find what is in a layer and in a setting.
      const there = [
        'A container runs one role: the API answers',
        'DROVER_HEALTH_PORT=7071',
        'Moves fleets of virtual machines',
      ]
      expect(await found(dir, archive, there)).toHaveLength(there.length)
      const steps = await engine.podman(['history', '--no-trunc', '--format', '{{.CreatedBy}}', image])
      expect(steps).toContain('/bin/sh -c')
      await appendFile(archive, steps)
      expect(await found(dir, archive, [...secretsIn(secrets).values(), ...planted])).toEqual([])
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })

  test('the image holds the product and nothing else, and it belongs to root', async () => {
    const names = lines(await inImage('ls -A /app')).sort()
    expect(names).toEqual(['LICENSE', 'db', 'node_modules', 'package.json', 'src', 'workers'])
    expect(await inImage('find /app ! -type l \\( ! -user root -o -perm /6022 \\)')).toBe('')
    expect(
      await inImage(
        "find /app -path /app/node_modules -prune -o \\( -name '*.test.ts' -o -name '.*' -o -name '*.log' \\) -print",
      ),
    ).toBe('')
  })

  test('the image runs as a user of its own where nobody says otherwise', async () => {
    expect(await inImage('id -u; id -g')).toBe('1000\n1000')
  })
}

/** Which of the words are somewhere in a file. */
const found = async (dir: string, file: string, words: readonly string[]): Promise<string[]> => {
  await writeFile(join(dir, 'words'), `${words.join('\n')}\n`)
  const args = ['--text', '--only-matching', '--fixed-strings', `--file=${join(dir, 'words')}`, file]
  const { stdout } = await run('grep', args).catch((error: { code?: number }) => {
    // 1: nothing was found.
    if (error.code === 1) return { stdout: '' }
    throw error
  })
  return [...new Set(lines(stdout))].sort()
}
