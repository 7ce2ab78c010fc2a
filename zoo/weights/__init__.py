"""Read and write weight files of every format; get pretrained weights."""
