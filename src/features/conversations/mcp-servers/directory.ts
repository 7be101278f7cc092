import type { McpDirectory } from './schemas.ts'

/**
 * Well-known public MCP servers that speak streamable HTTP. `auth`: `none` needs nothing, `oauth` registers a client by
 * itself, `oauth-client` needs an application that the owner creates at the vendor.
 */
export const MCP_DIRECTORY: McpDirectory['servers'] = [
  {
    name: 'atlassian',
    title: 'Atlassian',
    description: 'Jira issues and Confluence pages',
    url: 'https://mcp.atlassian.com/v1/mcp',
    auth: 'oauth',
    documentation: 'https://www.atlassian.com/platform/remote-mcp-server',
  },
  {
    name: 'cloudflare-docs',
    title: 'Cloudflare Docs',
    description: 'Search in the documentation of Cloudflare',
    url: 'https://docs.mcp.cloudflare.com/mcp',
    auth: 'none',
    documentation: 'https://developers.cloudflare.com/agents/model-context-protocol/mcp-servers-for-cloudflare/',
  },
  {
    name: 'context7',
    title: 'Context7',
    description: 'Current documentation of libraries',
    url: 'https://mcp.context7.com/mcp',
    auth: 'none',
    documentation: 'https://github.com/upstash/context7',
  },
  {
    name: 'deepwiki',
    title: 'DeepWiki',
    description: 'Questions about public GitHub repositories',
    url: 'https://mcp.deepwiki.com/mcp',
    auth: 'none',
    documentation: 'https://docs.devin.ai/work-with-devin/deepwiki-mcp',
  },
  {
    name: 'github',
    title: 'GitHub',
    description: 'Repositories, issues and pull requests',
    url: 'https://api.githubcopilot.com/mcp/',
    auth: 'oauth-client',
    documentation: 'https://github.com/github/github-mcp-server',
  },
  {
    name: 'hugging-face',
    title: 'Hugging Face',
    description: 'Models, data sets, papers and Spaces',
    url: 'https://huggingface.co/mcp',
    auth: 'none',
    documentation: 'https://huggingface.co/docs/hub/hf-mcp-server',
  },
  {
    name: 'linear',
    title: 'Linear',
    description: 'Issues, projects and comments',
    url: 'https://mcp.linear.app/mcp',
    auth: 'oauth',
    documentation: 'https://linear.app/docs/mcp',
  },
  {
    name: 'notion',
    title: 'Notion',
    description: 'Pages and databases of a workspace',
    url: 'https://mcp.notion.com/mcp',
    auth: 'oauth',
    documentation: 'https://developers.notion.com/docs/mcp',
  },
  {
    name: 'sentry',
    title: 'Sentry',
    description: 'Errors, issues and releases',
    url: 'https://mcp.sentry.dev/mcp',
    auth: 'oauth',
    documentation: 'https://docs.sentry.io/product/sentry-mcp/',
  },
  {
    name: 'stripe',
    title: 'Stripe',
    description: 'Customers, invoices and payments',
    url: 'https://mcp.stripe.com',
    auth: 'oauth',
    documentation: 'https://docs.stripe.com/mcp',
  },
]
