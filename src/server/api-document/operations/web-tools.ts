import type { Domain } from './domain.ts'

/** Files of agents, and what they fetch from elsewhere. */
export const WEB_TOOLS: Domain = {
  Files: {
    about: 'Workspaces of agents: files, folders, and the git repository that they may be.',
    routes: {
      'GET /api/browse/tree': 'Lists the files of a workspace',
      'GET /api/browse/read': 'Reads a text file',
      'POST /api/browse/write': 'Writes a text file',
      'GET /api/browse/search': 'Searches files by name or content',
      'GET /api/browse/download': 'Downloads a file',
      'POST /api/browse/upload': 'Uploads a file',
      'POST /api/browse/mkdir': 'Makes a folder',
      'POST /api/browse/rename': 'Renames or moves a file or folder',
      'DELETE /api/browse/delete': 'Deletes a file or folder',
      'GET /api/browse/git-status': 'Shows what changed since the last commit',
      'GET /api/browse/git-diff': 'Shows changes line by line',
      'POST /api/browse/git-init': 'Starts a version history with a first commit',
      'POST /api/browse/git-sync': 'Commits everything and pushes it',
      'GET /api/browse/git-log': 'Lists commits',
      'PUT /api/browse/git-credentials': 'Keeps the password of a remote repository',
      'DELETE /api/browse/git-credentials': 'Forgets the password of a remote repository',
    },
  },
  Web: {
    about: 'Pages, searches and requests, past a guard of private networks.',
    routes: {
      'POST /api/summarize': 'Sums up a web page',
      'POST /api/extract': 'Extracts links, images and metadata of a page',
      'POST /v1/pages': 'Reads a web page as Markdown',
      'POST /v1/search': 'Searches the web',
      'POST /v1/http': 'Sends an HTTP request to an allowed host',
      'GET /api/feeds': 'Lists feeds, or reads one',
    },
  },
  Media: {
    about: 'Live streams and videos, and the events that their services send.',
    routes: {
      'GET /api/radio/live': 'Lists who is on the air',
      'GET /api/radio/streams': 'Lists your live streams',
      'POST /api/radio/streams': 'Creates a live stream',
      'DELETE /api/radio/streams/:id': 'Deletes a live stream',
      'POST /api/generate-video': 'Orders a video',
      'GET /api/videos': 'Lists your newest videos',
      'GET /api/videos/:id': 'Gives a video once it is finished',
      'POST /api/webhooks/video': 'Receives an event of the video service',
      'POST /api/webhooks/email': 'Receives a mail for an agent',
    },
  },
}
