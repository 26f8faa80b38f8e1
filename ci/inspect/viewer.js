// Opens a heap snapshot in the Memory panel of a browser's DevTools, and compares what that shows with
// the report of `top --json`: the types with most bytes, and how many objects each has.
const puppeteer = require('puppeteer-core');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

// The panel's elements are in shadow trees.
function elements() {
  const all = (root) => [...root.querySelectorAll('*')].flatMap(inner);
  const inner = (e) => (e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
  return all(document);
}

async function main([browserPath, file, top]) {
  const browser = await puppeteer.launch({
    executablePath: browserPath,
    args: ['--no-sandbox', '--disable-gpu', '--window-size=1200,1000'],
    defaultViewport: { width: 1200, height: 1000 },
    handleDevToolsAsPage: true,
  });
  try {
    const page = await browser.newPage();
    await page.goto('devtools://devtools/bundled/devtools_app.html?panel=heap-profiler');
    await page.evaluate(`window.elements = ${elements}`);
    const find = async (what) => {
      const found = await page.waitForFunction(`elements().find((e) => ${what})`);
      return found.asElement();
    };
    const input = await find("e.type === 'file'");
    await input.uploadFile(file);
    const name = path.basename(file, '.heapsnapshot');
    const is = `e.role === 'treeitem' && e.textContent.includes('${name}')`;
    const item = await find(`${is} && /[kM]B/.test(e.textContent)`);
    await item.click();
    // A row is a type, with the number of its objects.
    const types = JSON.parse(fs.readFileSync(top, 'utf8')).types.filter((type) => type.objects > 1);
    types.sort((a, b) => b.bytes - a.bytes);
    for (const { name, objects, dead } of types.slice(0, 5)) {
      const row = await find(`e.tagName === 'TR' && e.textContent.startsWith('${name}')`);
      const text = await row.evaluate((e) => e.querySelector('td').textContent);
      const shown = Number(text.match(/×([\d,]+)$/)?.[1].replaceAll(',', ''));
      assert.equal(shown, objects + dead, text);
      console.log(`${name}: ${shown} objects in the viewer`);
    }
  } finally {
    await browser.close();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
