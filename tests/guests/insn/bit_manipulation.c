// BMI1, BMI2, ADX, LZCNT, POPCNT, MOVBE on edge values: VEX-encoded general-register
// instructions, two carry chains at once.
//@ cflags: -O1 -mbmi -mbmi2 -madx -mlzcnt -mpopcnt -mmovbe
//@ needs: bmi1 bmi2 adx abm movbe
#include "guest.h"
#include <immintrin.h>
int main(void) {
    u64 h = 1, x = 0x123456789abcdef;
    for (int i = 0; i < 500; i++) {
        u64 y = x * 0x9e3779b97f4a7c15, m = x >> (i % 60), r; KEEP(y);
        h = h * 31 + _pext_u64(x, y) + _pdep_u64(x, m) + _bzhi_u64(y, i & 63) + _andn_u64(x, y) +
            _blsr_u64(m) + _tzcnt_u64(m) + _lzcnt_u64(m) + _popcnt64(y);
        unsigned long long hi, lo = _mulx_u64(x, y, &hi); h ^= hi + lo;
        asm volatile("rorx $13, %1, %0" : "=r"(r) : "r"(y)); h += r;
        asm volatile("sarx %2, %1, %0" : "=r"(r) : "r"(y), "r"(m)); h += r;
        asm volatile("stc; adcx %1, %0; adox %1, %0" : "+r"(h) : "r"(x) : "cc");
        asm volatile("movbe %1, %0" : "=r"(r) : "m"(y)); h += r;
        x = y + i;
    }
    printf("%016lx\n", h);
    FINISH();
}
