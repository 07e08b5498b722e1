echo plain $1; exit 7
