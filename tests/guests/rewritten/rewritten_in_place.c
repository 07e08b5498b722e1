// Code in a page that is writable and executable, rewritten between calls, a byte of an
// immediate at a time, by stores of all widths and by rep movs.
//@ variants: pie static
#include "guest.h"
int main(void) {
    u8 *p = pages(1, 7), image[16]; emit_return(p, 0);
    for (u32 i = 0; i < 1000; i++) {
        switch (i % 5) {
        case 0:
            emit_return(p, i);
            break;
        case 1:
            *(u32 *)(p + 1) = i;
            break;
        case 2:
            p[1] = i, p[2] = i >> 8;
            break;
        case 3:
            emit_return(image, i);
            __builtin_memcpy(p, image, 6);
            break;
        default: {
            emit_return(image, i);
            u64 c = 6;
            u8 *s = image, *d = p;
            asm volatile("rep movsb" : "+c"(c), "+S"(s), "+D"(d)::"memory");
        }
        }
        SAME(((function)p)(), i);
    }
    FINISH();
}
