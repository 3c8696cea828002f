// Blocks of data: JSON, compressed and in base64, in elements of the page that the browser does not read.

/** @param {string} id @returns {Promise<any>} */
export async function unpack(id) {
  const block = document.getElementById(id);
  if (!block) throw new Error(`The page has no block of data ${id}.`);
  const packed = atob(block.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
