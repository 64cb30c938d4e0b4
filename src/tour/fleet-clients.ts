import { type ApiDoor, socketDoor } from '../api-request.ts'
import { Client } from '../cli/kit/client.ts'

/** A client with a token; of the fleet's own API, unless another door is named. */
export type ClientFor = (token: string, door?: ApiDoor, who?: string) => Client

/** Asks the API at its socket: nobody else listens there. */
export const fleetClients =
  (socketPath: string, signal: AbortSignal): ClientFor =>
  (token, door = socketDoor(socketPath), who = 'Drover') =>
    new Client(
      () => ({ door, who, where: door.socketPath ?? door.origin, token, tokenFrom: undefined }),
      signal,
    )
