<?php
// Books a batch: php book.php FILE
declare(strict_types=1);

// npm start keeps its addresses in its data folder.
$started = @file_get_contents((getenv('DATA_DIR') ?: '.data') . '/start.pid') ?: '';
$started = preg_match('/orders +(\S+)/', $started, $match) ? $match[1] : 'http://127.0.0.1:3000';
$base = (getenv('COURIER_URL') ?: $started) . '/api/public/merchant';
$headers = ['X-tenant: ' . (getenv('COURIER_TENANT') ?: 'demo'), 'Accept: application/json'];

/** Sends a request; returns its status and its body. */
function call(string $method, string $url, array $headers, ?array $body = null): array
{
    $http = ['method' => $method, 'header' => $headers, 'ignore_errors' => true, 'timeout' => 30];
    if ($body !== null) {
        $http['header'][] = 'Content-Type: application/json';
        $http['content'] = json_encode($body, JSON_THROW_ON_ERROR);
    }
    $text = file_get_contents($url, false, stream_context_create(['http' => $http]));
    if ($text === false) {
        throw new RuntimeException("No response from $url");
    }
    preg_match('#^HTTP/\S+ (\d{3})#', $http_response_header[0], $match);
    return [(int) $match[1], json_decode($text, true, 512, JSON_THROW_ON_ERROR)];
}

/** Prints each error of what was sent with its value and similar places, and exits. */
function fail(array $body, array $sent = []): never
{
    fwrite(STDERR, $body['message'] . PHP_EOL);
    foreach ($body['errors'] ?? [] as $path => $sentences) {
        $value = array_reduce(explode('.', $path), fn ($inner, $name) => is_array($inner) ? $inner[$name] ?? null : null, $sent);
        // A city of the same name is in another state.
        $places = implode(' or ', array_map(
            fn ($place) => $place['name'] . (strcasecmp($place['name'], (string) $value) ? '' : " in {$place['state']}"),
            $body['suggestions'][$path] ?? [],
        ));
        foreach ($sentences as $sentence) {
            $words = preg_split('/ (?=(?:is|has|must) )/', $sentence, 2);
            $named = implode(is_scalar($value) ? " $value " : ' ', $words);
            fwrite(STDERR, "$path: $named" . ($places === '' ? '' : " Did you mean $places?") . PHP_EOL);
        }
    }
    exit(1);
}

$credentials = [
    'email' => getenv('COURIER_EMAIL') ?: 'shop@example.com',
    'password' => getenv('COURIER_PASSWORD') ?: 'lanka-shoes-demo',
];
[$status, $body] = call('POST', "$base/login", $headers, $credentials);
if ($status !== 200) fail($body);
$headers[] = 'Authorization: Bearer ' . $body['token'];

$query = http_build_query(['filter' => ['name' => getenv('COURIER_CITY') ?: 'Kotte']]);
[$status, $body] = call('GET', "$base/city?$query", $headers);
if ($status !== 200) fail($body);
$city = $body['data'][0] ?? exit('There is no such city.' . PHP_EOL);
echo "The parcels start in {$city['name']}, {$city['state']['name']}", PHP_EOL;

$text = file_get_contents($argv[1]);
$batch = json_decode($text, true, 512, JSON_THROW_ON_ERROR);
$batch['general_data']['origin_city_id'] = (string) $city['id'];
// The same file gets the same key: a second run books nothing.
[$status, $body] = call('POST', "$base/order/bulk", [...$headers, 'Idempotency-Key: php-' . hash('sha256', $text)], $batch);
if ($status !== 200) fail($body, $batch);
$waybill = $body['data'][0];
echo "First waybill: $waybill", PHP_EOL;

[$status, $body] = call('GET', "$base/order/tracking-info?waybill_number=$waybill", $headers);
if ($status !== 200) fail($body);
echo "Its status: {$body['data'][0]['status']['name']}", PHP_EOL;
