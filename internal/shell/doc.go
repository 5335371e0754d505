// Package shell writes words of commands for shells: of programs that lines advise, and that run on other machines.
//
//	fmt.Printf("continue with `capgnn train --resume %s`\n", shell.Word(dir))
package shell
