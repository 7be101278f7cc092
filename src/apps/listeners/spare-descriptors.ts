import { holdDescriptors, releaseDescriptors } from '../../core/concurrency/spare-descriptors.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'

/** All the ports of the program; see `Door`. */
type Doors = { shut(): void; reopen(): void }

/** For files, calls and programs of our own while strangers have all the rest. */
const RESERVE = 32
/** Doors are opened again when others can come in besides. */
const SPARE_TO_REOPEN = 2 * RESERVE
const LOOK_MS = 250
/** A second, so that a crowd that pushes in at once costs a fraction of the time. */
const SHUT_LOOKS = 4
/** Five seconds without another shortage end it; a crowd that comes and goes is one line in the log, not hundreds. */
const CALM_LOOKS = 20

/**
 * Shuts the doors while the process has no file descriptors left for connections. The server cannot accept them then, is
 * told of them at once again, and would spend a core on that. It holds a reserve of descriptors, which it gives back to
 * the program as long as the doors are shut: new connections, health probes among them, are refused until others have
 * left. Returns what ends it.
 */
export function keepDescriptorsSpare(doors: Doors, log: Log): () => void {
  let isShut = false
  let isShort = false
  let looks = 0

  const shut = () => {
    doors.shut()
    isShut = true
    looks = 0
    if (!isShort) log.warn('no file descriptors are left: new connections are refused (the limit is that of ulimit -n)')
    isShort = true
  }
  const reopen = () => {
    looks = 0
    try {
      doors.reopen()
      isShut = false
    } catch (error) {
      log.error({ error: errorMessage(error) }, 'cannot listen again, and will try once more in a second')
    }
  }
  const look = () => {
    looks += 1
    if (isShut) {
      if (looks < SHUT_LOOKS) return
      if (hold(SPARE_TO_REOPEN)) reopen()
      // Those that could be reopened while another could not are shut as well.
      else doors.shut()
    } else if (!hold(RESERVE + 1)) {
      shut()
    } else if (isShort && looks >= CALM_LOOKS) {
      isShort = false
      log.info('file descriptors are free again: new connections are taken')
    }
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    releaseDescriptors(0)
  }
}

/** Are `count` descriptors free or held already? Holds the reserve if so, and nothing at all if not. */
function hold(count: number): boolean {
  const isFree = holdDescriptors(count)
  if (isFree) releaseDescriptors(RESERVE)
  return isFree
}
