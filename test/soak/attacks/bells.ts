import { expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { takenOver } from './taken-over.ts'

/** What the password of Redis is worth. */
export const attackBells = (scene: () => Scene): void => {
  const { node } = takenOver(scene)
  test('a worker taken over that forges bells in Redis starts nothing that is not due', async () => {
    const answer = await node(
      'worker',
      `import { Queue } from 'bullmq'
       import postgres from 'postgres'
       import { readFileSync } from 'node:fs'
       const read = (name) => readFileSync('/run/secrets/' + name, 'utf8').trim()
       const sql = postgres(read('worker_database_url'), { max: 1 })
       const id = crypto.randomUUID()
       await sql\`insert into job (id, kind, subject_type, subject_id, payload, payload_version, bell, priority, lane,
         run_after, created_by) values (\${id}, 'self-test', 'x', 'x', '{}', 1, 'held', 0, 'forged',
         now() + interval '1 day', 'test')\`
       const url = new URL(read('redis_url'))
       const connection = { host: url.hostname, port: 6379, password: url.password }
       const queue = new Queue('self-test', { connection, prefix: '{drover}' })
       for (let n = 0; n < 20; n += 1)
         await queue.add('self-test', { id, generation: 1 }, { removeOnComplete: true })
       const deadline = Date.now() + 30000
       for (;;) {
         const counts = await queue.getJobCounts('waiting', 'active')
         if (counts.waiting + counts.active === 0) break
         if (Date.now() > deadline) throw new Error('nobody heard the bells')
         await new Promise((resolve) => setTimeout(resolve, 50))
       }
       console.log((await sql\`select state, lease_epoch from job where id = \${id}\`).map((row) =>
         row.state + ' ' + row.lease_epoch).join())
       await sql.end()
       await queue.close()`,
    )
    expect(answer).toBe('ready 0')
  })
}
