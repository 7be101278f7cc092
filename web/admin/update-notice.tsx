import { queryOptions, useQuery } from '@tanstack/react-query'
import { UpdateNotice } from '../../src/features/admin/updates/schemas.ts'
import { api, request } from '../api/request.ts'
import { Notice } from '../ui/notice.tsx'

const updateQuery = queryOptions({
  queryKey: ['admin', 'update'],
  queryFn: ({ signal }) => request(UpdateNotice, api.GET('/api/admin/update', { signal })),
  staleTime: 3_600_000,
})

export function UpdateAvailable() {
  const update = useQuery(updateQuery).data
  if (!update?.isNewer) return null
  return (
    <Notice tone="note" title={`Stead ${update.latest} is available`}>
      <p>
        Current version: {update.current}.{' '}
        {update.url && (
          <a href={update.url} target="_blank" rel="noreferrer" className="underline">
            Release notes
          </a>
        )}
      </p>
    </Notice>
  )
}
