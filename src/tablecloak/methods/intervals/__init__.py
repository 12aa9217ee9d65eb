"""Parts of the interval methods: attainable intervals, blur for print, starts."""
