package fields

import (
	"fmt"
	"strings"
	"testing"
)

// Which columns of edges are used, by their names or places.
func TestEdgesByName(t *testing.T) {
	const unclear = "which columns are the ends of edges?"
	for head, want := range map[string]string{
		"source,target":                     "0>1",
		"target,source":                     "1>0",
		"weight,Source,Target":              "1>2 weight 0",
		"u,v,w":                             "0>1 weight 2",
		"v,u":                               "1>0",
		"v,w":                               "0>1",
		"w,v,value":                         "1>0 weight 2",
		"Id_2,W,id_1":                       "2>0 weight 1",
		"weight,to_node_id,FromNode":        "2>1 weight 0",
		"citing,cited,year":                 "0>1",
		":END_ID,:START_ID(Person),since":   "1>0",
		"uid,vid":                           "0>1",
		"source,target,weight,value":        "0>1 weight 2",
		"source,target,source_id,target_id": "0>1",
		// words beside the ends
		"to_account,from_account":                  "1>0",
		"transaction,from_account,to_account":      "1>2",
		"step,nameOrig,nameDest":                   "1>2",
		"target_name,source_name":                  "1>0",
		"e_to,e_from":                              "1>0",
		"source_id,source_name,target_id":          "0>2",
		"id,from_a,to_a,from_b,to_b":               unclear,
		"from_a,to_a,from_b,to_b":                  "0>1",
		"person,friend,start_date,end_date":        "0>1 by place",
		"start,end,caller,callee":                  "2>3",
		"start,end,p,q":                            "0>1 by place",
		"amount,payer,payee":                       "1>2",
		"amount,p,q":                               unclear,
		"id,age,visits":                            unclear,
		"src_ip,src_port,dst_ip,dst_port":          unclear,
		"From Bank,Account,To Bank,Account.1":      "0>2",
		"p,q,start,end":                            "0>1 by place",
		"start,end,p":                              "0>1",
		"_id,_labels,age,_start,_end,_type":        "3>4",
		"f,g,from the beginning,to the beginnings": "0>1 by place",
		// places
		"p,q":                  "0>1 by place",
		"p,q,r":                "0>1 by place third 2",
		"p,q,Year":             "0>1 by place",
		"p,q,weight":           "0>1 by place weight 2",
		"p,q,r,s":              "0>1 by place",
		",p,q":                 "1>2 by place",
		"Unnamed: 0,p,q,r":     "1>2 by place third 3",
		"index,p":              "0>1 by place",
		"index,p,q":            "1>2 by place",
		"edge_id,p,q":          "1>2 by place",
		",0,1":                 "1>2 by place",
		"0,1,2":                "0>1 by place third 2",
		"id,friend":            "0>1 by place",
		"source,friend":        "0>1 by place",
		"x,target":             "0>1 by place",
		"id,p,q":               unclear,
		"friend,source":        unclear,
		"target,friend":        unclear,
		"w,p,q":                unclear,
		"time,p,q":             unclear,
		"p,type,q":             unclear,
		"source,source":        unclear,
		"source,target,source": `columns 1 and 3 are both called "source": rename one`,
		"source,target,w,w":    `columns 3 and 4 are both called "w": rename one`,
		"p":                    "names one column; name two at least",
		",p":                   "names one column and one that counts lines",
		"Zeit,Wert":            "0>1 by place",
		"\u7bc0,\u9ede,\u91cd": "0>1 by place third 2",
	} {
		c, err := EdgesByName(strings.Split(head, ","))
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%d>%d", c.From, c.To)
			if !c.Named {
				got += " by place"
			}
			if c.Weight >= 0 {
				got += fmt.Sprint(" weight ", c.Weight)
			}
			if c.Third >= 0 {
				got += fmt.Sprint(" third ", c.Third)
			}
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s, want %s", head, got, want)
		}
	}
}

// Every name is written as it is compared.
func TestColumnNames(t *testing.T) {
	all := append(append(append([]string{}, weightNames...), aboutEdges...), idNames...)
	for _, pair := range endNames {
		all = append(all, pair[:]...)
	}
	for _, name := range all {
		if NameKey(name) != name {
			t.Errorf("%q is compared as %q", name, NameKey(name))
		}
	}
}
