import qrcode from 'qrcode-generator';
import { picture } from '../view/dom.ts';

/** Empty modules around the code (ISO/IEC 18004, "Quiet zone"). */
const MARGIN = 4;

/** A QR code of an address, as a picture with a name for screen readers. */
export function qrCode(address: string, label: string): SVGElement {
  const code = qrcode(0, 'M');
  code.addData(address);
  code.make();
  const modules = code.getModuleCount();
  let dark = '';
  for (let row = 0; row < modules; row++)
    for (let column = 0; column < modules; column++)
      if (code.isDark(row, column)) dark += `M${column + MARGIN} ${row + MARGIN}h1v1h-1z`;
  const size = modules + 2 * MARGIN;
  return picture({ viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label, class: 'qr' }, dark);
}
