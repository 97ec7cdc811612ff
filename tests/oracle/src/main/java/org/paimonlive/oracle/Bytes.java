/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

final class Bytes {
    private Bytes() {}

    /** Order of the UTF-8 bytes, unsigned: what C's strcmp/memcmp (LC_ALL=C sort) gives. */
    static int compareUtf8(String a, String b) {
        return Arrays.compareUnsigned(
                a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
    }
}
