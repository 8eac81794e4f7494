package geo

import "math"

// The polynomials and their ranges are those of the Cephes library (S. L. Moshier), which
// package math uses too; without fused instructions the results are bit for bit the same.

// sin is the sine of x, |x| <= 2*pi.
func sin(x float64) float64 {
	negative := math.Signbit(x)
	octant, z := reduce(math.Abs(x))
	if octant > 3 {
		negative = !negative
		octant -= 4
	}
	y := 0.0
	if octant == 1 || octant == 2 {
		y = cosPoly(z)
	} else {
		y = sinPoly(z)
	}
	if negative {
		return -y
	}
	return y
}

// cos is the cosine of x, |x| <= 2*pi.
func cos(x float64) float64 {
	negative := false
	octant, z := reduce(math.Abs(x))
	if octant > 3 {
		negative = true
		octant -= 4
	}
	if octant > 1 {
		negative = !negative
	}
	y := 0.0
	if octant == 1 || octant == 2 {
		y = sinPoly(z)
	} else {
		y = cosPoly(z)
	}
	if negative {
		return -y
	}
	return y
}

// reduce splits x >= 0 into an even octant (0, 2, 4 or 6 times pi/4) and the rest, |z| <= pi/4.
// The octants 1, 3, 5 and 7 are rounded up to the next even one.
func reduce(x float64) (octant int, z float64) {
	const ( // pi/4 in three parts whose products with a small integer are exact
		pi4A = 7.85398125648498535156e-1
		pi4B = 3.77489470793079817668e-8
		pi4C = 2.69515142907905952645e-15
	)
	j := int(float64(x * (4 / math.Pi)))
	j += j & 1
	y := float64(j)
	z = ((x - float64(y*pi4A)) - float64(y*pi4B)) - float64(y*pi4C)
	return j & 7, z
}

// sinPoly is the sine of z, |z| <= pi/4.
func sinPoly(z float64) float64 {
	zz := float64(z * z)
	p := float64(1.58962301576546568060e-10*zz) + -2.50507477628578072866e-8
	p = float64(p*zz) + 2.75573136213857245213e-6
	p = float64(p*zz) + -1.98412698295895385996e-4
	p = float64(p*zz) + 8.33333333332211858878e-3
	p = float64(p*zz) + -1.66666666666666307295e-1
	return z + float64(float64(z*zz)*p)
}

// cosPoly is the cosine of z, |z| <= pi/4.
func cosPoly(z float64) float64 {
	zz := float64(z * z)
	p := float64(-1.13585365213876817300e-11*zz) + 2.08757008419747316778e-9
	p = float64(p*zz) + -2.75573141792967388112e-7
	p = float64(p*zz) + 2.48015872888517045348e-5
	p = float64(p*zz) + -1.38888888888730564116e-3
	p = float64(p*zz) + 4.16666666666665929218e-2
	return 1.0 - float64(0.5*zz) + float64(float64(zz*zz)*p)
}

// asin is the arcsine of x, 0 <= x <= 1.
func asin(x float64) float64 {
	if x == 0 {
		return 0
	}
	c := math.Sqrt(1 - float64(x*x))
	if x > 0.7 {
		return math.Pi/2 - atan(c/x)
	}
	return atan(x / c)
}

// atan is the arctangent of x >= 0, +Inf included.
func atan(x float64) float64 {
	const (
		moreBits = 6.123233995736765886130e-17 // pi/2 less its float64
		tan3Pio8 = 2.41421356237309504880
	)
	switch {
	case x <= 0.66:
		return atanPoly(x)
	case x > tan3Pio8:
		return math.Pi/2 - atanPoly(1/x) + moreBits
	}
	return math.Pi/4 + atanPoly((x-1)/(x+1)) + float64(0.5*moreBits)
}

// atanPoly is the arctangent of x, |x| <= 0.66.
func atanPoly(x float64) float64 {
	z := float64(x * x)
	p := float64(-8.750608600031904122785e-01*z) + -1.615753718733365076637e+01
	p = float64(p*z) + -7.500855792314704667340e+01
	p = float64(p*z) + -1.228866684490136173410e+02
	p = float64(p*z) + -6.485021904942025371773e+01
	q := z + 2.485846490142306297962e+01
	q = float64(q*z) + 1.650270098316988542046e+02
	q = float64(q*z) + 4.328810604912902668951e+02
	q = float64(q*z) + 4.853903996359136964868e+02
	q = float64(q*z) + 1.945506571482613964425e+02
	return float64(x*(float64(z*p)/q)) + x
}
