import { expect, test } from 'vitest'
import { eventWords } from '../../src/domain/event-words.ts'

test.each([
  [
    { type: 'job.released', reason: 'awaiting-slot', detail: { message: 'It waits for a slot.' } },
    'awaiting-slot: It waits for a slot.',
  ],
  [{ type: 'session.started', detail: { peer: '10.0.0.7' } }, 'signed in from 10.0.0.7'],
  [{ type: 'session.ended', detail: { peer: '10.0.0.7' } }, 'signed out from 10.0.0.7'],
  [
    {
      type: 'sign-in.failed',
      detail: { attempts: 2, peers: [{ peer: 'the local socket', attempts: 2 }] },
    },
    'wrong token 2 times, from the local socket (2 times)',
  ],
  [
    { type: 'sign-in.failed', detail: { attempts: 1, peers: [{ peer: '10.0.0.7', attempts: 1 }] } },
    'wrong token once, from 10.0.0.7 (once)',
  ],
  [
    {
      type: 'sign-in.failed',
      detail: {
        attempts: 45,
        peers: [
          { peer: '10.0.0.7', attempts: 1 },
          { peer: '10.0.0.8', attempts: 4 },
        ],
        of_other_addresses: 40,
      },
    },
    'wrong token 45 times, from 10.0.0.7 (once), 10.0.0.8 (4 times), other addresses (40 times)',
  ],
  [{ type: 'job.failed', reason: 'platform-away', detail: { peer: 'x' } }, 'platform-away'],
  [{ type: 'job.succeeded', reason: null, detail: null }, ''],
])('an event is said in words: %j', (event, words) => {
  expect(eventWords(event)).toBe(words)
})
