package taximeter.peers.meter;

/**
 * Great-circle distance on a sphere of mean radius, with the polynomials of the Cephes library. The contract fixes the
 * order of evaluation so that every implementation finds the same bits.
 */
final class Geo {
    private static final double TWICE_RADIUS_M = 2 * 6_371_008.8;
    private static final double RAD_PER_DEG = Math.PI / 180;

    private Geo() {}

    static double metres(double latA, double lonA, double latB, double lonB) {
        double phi1 = latA * RAD_PER_DEG, phi2 = latB * RAD_PER_DEG;
        double s1 = sin((phi2 - phi1) / 2);
        double s2 = sin((lonB - lonA) * RAD_PER_DEG / 2);
        double h = s1 * s1 + cos(phi1) * cos(phi2) * s2 * s2;
        return TWICE_RADIUS_M * asin(Math.min(1, Math.sqrt(h)));
    }

    private static double sin(double x) {
        double abs = Math.abs(x);
        int octant = octant(abs);
        double z = rest(abs, octant);
        octant &= 7;
        boolean negative = x < 0 ^ octant > 3;
        octant &= 3;
        double y = octant == 1 || octant == 2 ? cosPoly(z) : sinPoly(z);
        return negative ? -y : y;
    }

    private static double cos(double x) {
        double abs = Math.abs(x);
        int octant = octant(abs);
        double z = rest(abs, octant);
        octant &= 7;
        boolean negative = octant > 3;
        octant &= 3;
        negative ^= octant > 1;
        double y = octant == 1 || octant == 2 ? sinPoly(z) : cosPoly(z);
        return negative ? -y : y;
    }

    private static int octant(double x) {
        int j = (int) (x * (4 / Math.PI));
        return j + (j & 1);
    }

    private static double rest(double x, int octant) {
        double y = octant;
        return x - y * 7.85398125648498535156e-1 - y * 3.77489470793079817668e-8 - y * 2.69515142907905952645e-15;
    }

    private static double sinPoly(double z) {
        double zz = z * z;
        double p = 1.58962301576546568060e-10 * zz + -2.50507477628578072866e-8;
        p = p * zz + 2.75573136213857245213e-6;
        p = p * zz + -1.98412698295895385996e-4;
        p = p * zz + 8.33333333332211858878e-3;
        p = p * zz + -1.66666666666666307295e-1;
        return z + z * zz * p;
    }

    private static double cosPoly(double z) {
        double zz = z * z;
        double p = -1.13585365213876817300e-11 * zz + 2.08757008419747316778e-9;
        p = p * zz + -2.75573141792967388112e-7;
        p = p * zz + 2.48015872888517045348e-5;
        p = p * zz + -1.38888888888730564116e-3;
        p = p * zz + 4.16666666666665929218e-2;
        return 1.0 - 0.5 * zz + zz * zz * p;
    }

    private static double asin(double x) {
        if (x == 0) {
            return 0;
        }
        double c = Math.sqrt(1 - x * x);
        return x > 0.7 ? Math.PI / 2 - atan(c / x) : atan(x / c);
    }

    private static double atan(double x) {
        double moreBits = 6.123233995736765886130e-17;
        if (x <= 0.66) {
            return atanPoly(x);
        }
        if (x > 2.41421356237309504880) {
            return Math.PI / 2 - atanPoly(1 / x) + moreBits;
        }
        return Math.PI / 4 + atanPoly((x - 1) / (x + 1)) + 0.5 * moreBits;
    }

    private static double atanPoly(double x) {
        double z = x * x;
        double p = -8.750608600031904122785e-01 * z + -1.615753718733365076637e+01;
        p = p * z + -7.500855792314704667340e+01;
        p = p * z + -1.228866684490136173410e+02;
        p = p * z + -6.485021904942025371773e+01;
        double q = z + 2.485846490142306297962e+01;
        q = q * z + 1.650270098316988542046e+02;
        q = q * z + 4.328810604912902668951e+02;
        q = q * z + 4.853903996359136964868e+02;
        q = q * z + 1.945506571482613964425e+02;
        return x * (z * p / q) + x;
    }
}
