import { createHash } from 'node:crypto'
import { connect } from 'node:tls'

/** SHA-256 of the certificate that a server shows, as a person would read it off its console. */
export const seenFingerprint = (host: string, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate()
      socket.destroy()
      resolve(createHash('sha256').update(raw).digest('hex'))
    })
    socket.once('error', reject)
  })
