-- Apart from 0021, which holds no lock that readers wait for.
drop index orders_of_merchant;
alter index orders_summed rename to orders_of_merchant;
