// A vCenter (or an ESXi host) to test against: govmomi's simulator as Debian packages it, behind our own flags.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

func main() {
	listen := flag.String("l", "127.0.0.1:0", "address")
	esx := flag.Bool("esx", false, "a single ESXi host instead of a vCenter")
	vms := flag.Int("vm", 2, "machines of each resource pool")
	datacenters := flag.Int("dc", 1, "data centres")
	clusters := flag.Int("cluster", 1, "clusters of each data centre")
	hosts := flag.Int("host", 3, "hosts of each cluster")
	standalone := flag.Int("standalone-host", 1, "hosts outside of clusters, of each data centre")
	pools := flag.Int("pool", 0, "resource pools of each cluster, below its own")
	apps := flag.Int("app", 0, "vApps of each cluster")
	folders := flag.Int("folder", 0, "folders around each data centre")
	opaque := flag.Int("nsx", 0, "NSX networks of each data centre")
	portgroups := flag.Int("pg", 1, "distributed port groups of each data centre")
	nsxPortgroups := flag.Int("nsx-pg", 0, "distributed port groups behind NSX, of each data centre")
	datastores := flag.Int("ds", 1, "datastores")
	autostart := flag.Bool("autostart", true, "machines run from the start")
	delay := flag.Int("delay", 0, "milliseconds that every call takes longer")
	methodDelay := flag.String("method-delay", "", "method:milliseconds, separated by commas")
	username := flag.String("username", "administrator@vsphere.local", "the one account")
	password := flag.String("password", "", "its password")
	cert := flag.String("cert", "", "certificate file; without one the simulator brings its own")
	key := flag.String("key", "", "key file of the certificate")
	plain := flag.Bool("plain", false, "HTTP without TLS")
	endWithInput := flag.Bool("end-with-input", false, "end when standard input does: whoever started it has died")
	verbose := flag.Bool("verbose", false, "log to standard error")
	flag.Parse()
	if !*verbose {
		log.SetOutput(io.Discard)
	}

	model := simulator.VPX()
	if *esx {
		model = simulator.ESX()
	} else {
		model.Datacenter, model.Cluster, model.ClusterHost, model.Host = *datacenters, *clusters, *hosts, *standalone
		model.Pool, model.App, model.Folder = *pools, *apps, *folders
		model.OpaqueNetwork, model.Portgroup, model.PortgroupNSX = *opaque, *portgroups, *nsxPortgroups
	}
	model.Machine, model.Datastore, model.Autostart = *vms, *datastores, *autostart

	if err := model.Create(); err != nil {
		fail(err)
	}
	// Only now, or making the inventory would be slow too.
	model.DelayConfig.Delay = *delay
	model.DelayConfig.MethodDelay = parseDelays(*methodDelay)
	serve(model, *listen, url.UserPassword(*username, *password), *plain, *cert, *key)
	wait(*endWithInput)
	model.Remove()
}

func serve(model *simulator.Model, listen string, account *url.Userinfo, plain bool, cert, key string) {
	model.Service.Listen = &url.URL{Host: listen, User: account}
	model.Service.RegisterEndpoints = true
	if !plain {
		model.Service.TLS = &tls.Config{}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				fail(err)
			}
			model.Service.TLS.Certificates = []tls.Certificate{pair}
		}
	}
	server := model.Service.NewServer()
	fmt.Printf("ready %s://%s/sdk\n", server.URL.Scheme, server.URL.Host)
}

func wait(endWithInput bool) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if endWithInput {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			signals <- syscall.SIGTERM
		}()
	}
	<-signals
}

func parseDelays(text string) map[string]int {
	delays := make(map[string]int)
	for _, part := range strings.Split(text, ",") {
		name, value, found := strings.Cut(part, ":")
		if !found {
			continue
		}
		milliseconds, err := strconv.Atoi(value)
		if err != nil {
			fail(err)
		}
		delays[name] = milliseconds
	}
	return delays
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
