// Echo_node is a tool in plain Node.js: it speaks only the JSON envelope that docs/envelope.md describes.
export async function handler(event, context) {
  const { text } = event.arguments;
  if (text === 'throw') throw new RangeError('sekrit: nothing of this may reach a client');
  const structuredContent = {
    text,
    node: process.versions.node,
    requestId: context.awsRequestId,
    remaining: context.getRemainingTimeInMillis() > 0,
  };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}
