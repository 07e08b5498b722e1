#! ./a.sh   x y 
body
