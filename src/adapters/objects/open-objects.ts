import type { ObjectsPlace } from '../../core/config.ts'
import { openBucket } from './bucket.ts'
import { openFolder } from './folder.ts'
import type { Objects } from './objects.ts'

/** Opens the store of `OBJECTS_URL`. */
export function openObjects(place: ObjectsPlace): Objects {
  return 'folder' in place ? openFolder(place.folder) : openBucket(place.address, place.s3)
}
