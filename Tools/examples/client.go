// Pushes and watches over HTTP: client URL KEYID SECRET push JSON, or client URL KEYID SECRET watch FILE [PREFIX]
//
// `push` repeats the message with the same id until there is a final answer. Exit status: 0 accepted or duplicate, 1
// refused, 75 no final answer (keep the message and run this again with the same id: each device receives it once). The
// variable PATIENCE is the time limit in seconds (60). `watch` prints each event as a line of JSON. FILE has the number
// of the last one, so that it goes on there after an outage and after its own restart.
// Requests are signed (RFC 9421). Needs Go 1.19, and no modules: go run client.go URL …
package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

var base, key, secret string

func random() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

// send sends a request with a new signature, because a nonce is accepted once.
func send(client *http.Client, method, target string, headers map[string]string, body []byte) (*http.Response, error) {
	request, err := http.NewRequest(method, base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	names := `"@method" "@path" "@query"`
	place := request.URL
	lines := fmt.Sprintf("\"@method\": %s\n\"@path\": %s\n\"@query\": ?%s\n", method, place.EscapedPath(), place.RawQuery)
	if body != nil {
		sum := sha256.Sum256(body)
		digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		request.Header.Set("Content-Digest", digest)
		names, lines = names+` "content-digest"`, lines+"\"content-digest\": "+digest+"\n"
	}
	params := fmt.Sprintf(`(%s);created=%d;keyid="%s"`, names, time.Now().Unix(), key)
	params += fmt.Sprintf(`;alg="hmac-sha256";nonce="%s"`, random())
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(lines + `"@signature-params": ` + params))
	request.Header.Set("Signature-Input", "carillon="+params)
	request.Header.Set("Signature", "carillon=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return client.Do(request)
}

func isPassing(status int) bool { return status == 408 || status == 429 || status >= 500 }

// delay is how long the server asks to wait.
func delay(answer *http.Response, usual time.Duration) time.Duration {
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds < 3600 {
		return time.Duration(seconds) * time.Second
	}
	return usual
}

func push(text string) int {
	var message map[string]any
	if err := json.Unmarshal([]byte(text), &message); err != nil || message == nil {
		fmt.Fprintln(os.Stderr, "the message is not a JSON object")
		return 64
	}
	if message["id"] == nil {
		message["id"] = random()
	}
	body, _ := json.Marshal(message)
	patience, err := strconv.ParseFloat(os.Getenv("PATIENCE"), 64)
	if err != nil {
		patience = 60
	}
	for deadline := time.Now().Add(time.Duration(patience * float64(time.Second))); ; {
		wait := time.Second
		client := &http.Client{Timeout: 10 * time.Second}
		if left := time.Until(deadline); left < client.Timeout {
			client.Timeout = left + time.Millisecond
		}
		answer, err := send(client, "POST", "/v1/messages", map[string]string{"Content-Type": "application/json"}, body)
		if err == nil {
			ack, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && !isPassing(answer.StatusCode) {
				fmt.Println(strings.TrimSpace(string(ack)))
				if answer.StatusCode >= 300 {
					return 1
				}
				return 0
			}
			wait = delay(answer, wait)
		}
		if time.Until(deadline) < wait {
			time.Sleep(time.Until(deadline))
			fmt.Fprintf(os.Stderr, "%v: no final answer; send the message again with the same id\n", message["id"])
			return 75
		}
		time.Sleep(wait)
	}
}

// follow prints the events of one stream until it ends, and keeps the number of the last one.
func follow(answer *http.Response, file string) error {
	defer answer.Body.Close()
	// A comment comes every 15 seconds, so that a longer silence means a lost connection.
	timer := time.AfterFunc(45*time.Second, func() { answer.Body.Close() })
	defer timer.Stop()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 16<<20)
	id, data := "", ""
	for lines.Scan() {
		timer.Reset(45 * time.Second)
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && data != "": // An event ends with an empty line.
			fmt.Println(data)
			if err := keep(id, file); err != nil {
				return err
			}
			id, data = "", ""
		}
	}
	return nil
}

func keep(cursor, file string) error {
	if cursor == "" {
		return nil
	}
	if err := os.WriteFile(file+".new", []byte(cursor), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func watch(file, prefix string) int {
	client := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 45 * time.Second}}
	for target := "/v1/events?since=0&prefix=" + url.QueryEscape(prefix); ; {
		cursor, err := os.ReadFile(file)
		if err != nil {
			cursor = []byte("0")
		}
		wait := 2 * time.Second
		headers := map[string]string{"Accept": "text/event-stream", "Last-Event-ID": string(cursor)}
		if answer, err := send(client, "GET", target, headers, nil); err == nil {
			if answer.StatusCode == 200 {
				if err := follow(answer, file); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return 1
				}
			} else if text, _ := io.ReadAll(answer.Body); !isPassing(answer.StatusCode) {
				fmt.Fprintln(os.Stderr, string(text))
				return 1
			}
			wait = delay(answer, wait)
			answer.Body.Close()
		}
		time.Sleep(wait)
	}
}

func main() {
	words := os.Args[1:]
	if len(words) < 5 || len(words) > 6 || (words[3] != "push" && words[3] != "watch") {
		fmt.Println("usage: client URL KEYID SECRET push JSON, or client URL KEYID SECRET watch FILE [PREFIX]")
		os.Exit(64)
	}
	base, key, secret = strings.TrimSuffix(words[0], "/"), words[1], words[2]
	if words[3] == "push" {
		os.Exit(push(words[4]))
	}
	os.Exit(watch(words[4], strings.Join(words[5:], "")))
}
