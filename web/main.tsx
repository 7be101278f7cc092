import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { createPages } from './routes.tsx'
import { showTheme } from './shell/theme.ts'

showTheme()
const pages = createPages()
const root = document.getElementById('root')

if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={pages} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
